# SPDX-License-Identifier: MIT
"""One command on a terminal or on pipes, watched from all sides: `docker run` and `sparkrun run` are each started as a Side."""

import contextlib
import fcntl
import os
import pathlib
import select
import signal
import struct
import subprocess
import termios
import threading
import time

HERE = pathlib.Path(__file__).resolve().parent

# The job: tells what it gets in /seen/log. `job.py N`: the Nth signal that asks to end ends it with 10 + N; /seen/end ends
# it with 0.
JOB = '''
import os, signal, sys, time
wanted = int(sys.argv[1])
log = open("/seen/log", "a", buffering=1)
asked = 0
def take(number, frame):
    global asked
    log.write(signal.Signals(number).name[3:] + "\\n")
    if number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT):
        asked += 1
        if asked == wanted:
            print("saved", flush=True)
            os._exit(10 + asked)
for name in "INT TERM HUP QUIT TSTP CONT USR1 USR2".split():
    signal.signal(getattr(signal, "SIG" + name), take)
print("ready", flush=True)
open("/seen/ready", "w").close()
while not os.path.exists("/seen/end"):
    time.sleep(0.02)
print("end", flush=True)
'''


def set_size(terminal, rows, columns):
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))


class Side:
    """A command with the folder that its job sees as /seen."""

    def __init__(self, argv, folder, environment, cwd, has_terminal, stdin=subprocess.PIPE):
        self.folder = folder
        self.out, self.err = bytearray(), bytearray()
        self.threads = []
        self.leader = self.status = None
        self.closed = set()
        if has_terminal:
            self.start_on_terminal(argv, environment, cwd)
        else:
            self.shell = None
            self.process = subprocess.Popen(argv, cwd=cwd, env=environment, stdin=stdin, stdout=subprocess.PIPE,
                                            stderr=subprocess.PIPE, start_new_session=True)
            self.pid = self.process.pid
            self.drain(self.process.stdout.fileno(), self.out)
            self.drain(self.process.stderr.fileno(), self.err)

    def start_on_terminal(self, argv, environment, cwd):
        self.leader, follower = os.openpty()
        set_size(self.leader, 31, 97)
        self.report, told = os.pipe()
        self.process = self.shell = subprocess.Popen(
            ["/usr/bin/python3", "-B", HERE / "job_shell.py", str(told), *argv], cwd=cwd, env=environment, stdin=follower,
            stdout=follower, stderr=follower, start_new_session=True, pass_fds=[told])
        os.close(follower)
        os.close(told)
        self.drain(self.leader, self.out)
        self.pid = int(self.wait_for_report("pid").split()[1])

    def drain(self, descriptor, into):
        def read():
            with contextlib.suppress(OSError, ValueError):  # EIO: nobody has the other end of the terminal any more
                while descriptor not in self.closed:
                    if select.select([descriptor], [], [], 0.05)[0]:
                        chunk = os.read(descriptor, 65536)
                        if not chunk:
                            return
                        into.extend(chunk)
        thread = threading.Thread(target=read, daemon=True)
        thread.start()
        self.threads.append(thread)

    # What is done to it.

    def type(self, keys):
        os.write(self.leader, keys)

    def send(self, number):
        os.kill(self.pid, number)

    def send_to_group(self, number):
        os.killpg(self.pid, number)

    def go_on(self):
        """`fg`."""
        self.shell.send_signal(signal.SIGUSR1)

    def hang_up(self):
        """The terminal is gone, as when its window is closed."""
        leader, self.leader = self.leader, None
        self.closed.add(leader)
        for thread in self.threads:  # a descriptor that somebody waits for is not closed
            thread.join()
        os.close(leader)

    def stop_reading(self):
        """As `| head -1` does."""
        descriptor = self.process.stdout.fileno()
        self.closed.add(descriptor)
        self.threads[0].join()
        self.process.stdout.close()

    def end_job(self):
        (self.folder / "end").touch()

    # What is seen of it.

    @property
    def log(self):
        path = self.folder / "log"
        return path.read_text().split() if path.exists() else []

    def is_stopped(self):
        return pathlib.Path(f"/proc/{self.pid}/stat").read_text().rpartition(") ")[2][0] == "T"

    def clients(self):
        """The engine's clients that are there for it."""
        mark = self.folder.name.encode()
        found = []
        for path in pathlib.Path("/proc").glob("[0-9]*/cmdline"):
            with contextlib.suppress(OSError):
                words = path.read_bytes().split(b"\0")
                if words[0].endswith(b"docker") and mark in words:
                    found.append(int(path.parent.name))
        return found

    def wait_until(self, condition, seconds=40):
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            if value := condition():
                return value
            time.sleep(0.02)
        raise AssertionError(f"waited in vain; log {self.log}, out {bytes(self.out)}, err {bytes(self.err)}")

    def wait_until_ready(self):
        self.wait_until(lambda: (self.folder / "ready").exists() and b"ready" in self.out)

    def wait_for_report(self, word, seconds=40):
        """The first line that begins so; what comes before it is dropped."""
        deadline = time.monotonic() + seconds
        pending = b""
        while time.monotonic() < deadline:
            if not select.select([self.report], [], [], deadline - time.monotonic())[0]:
                break
            # Single bytes: what follows the line stays for the next question.
            pending += os.read(self.report, 1) or b"exit nobody\n"
            if pending.endswith(b"\n"):
                line, pending = pending.decode().strip(), b""
                if line.startswith(word):
                    return line
        raise AssertionError(f"the shell did not say `{word}`")

    def wait_for_exit(self, seconds=40):
        """The status as a shell has it."""
        if self.status is not None:
            return self.status
        if self.shell:
            status = int(self.wait_for_report("exit", seconds).split()[1])
            self.shell.wait(10)
        else:
            status = self.process.wait(seconds)
            status = 128 - status if status < 0 else status
        for thread in self.threads:
            thread.join(10)
        self.status = status
        return status

    def close(self):
        with contextlib.suppress(OSError, ProcessLookupError):
            os.killpg(self.pid, signal.SIGKILL)
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        if self.leader is not None:
            self.hang_up()
        if self.shell:
            os.close(self.report)
        else:
            for stream in filter(None, (self.process.stdin, self.process.stdout, self.process.stderr)):
                with contextlib.suppress(OSError):
                    stream.close()
