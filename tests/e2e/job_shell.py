# SPDX-License-Identifier: MIT
"""What an interactive shell does for one job, and no more: `job_shell.py REPORT_FD PROGRAM...`, leader of a new session.

Its standard input is the terminal. The program gets a process group of its own in the foreground. REPORT_FD is told, a line
each: `pid N`, `stopped`, `exit N` (128 + n for a signal, as a shell has it). SIGUSR1 is `fg`; SIGHUP is passed on, as bash does.
"""

import fcntl
import os
import signal
import sys
import termios

HEEDED = (signal.SIGCHLD, signal.SIGHUP, signal.SIGUSR1)


def start(program, report):
    pid = os.fork()
    if pid:
        return pid
    os.close(report)
    os.setpgid(0, 0)
    os.tcsetpgrp(0, os.getpid())
    for number in (signal.SIGTTOU, signal.SIGPIPE, signal.SIGXFSZ):
        signal.signal(number, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_SETMASK, ())
    os.execvp(program[0], program)


def main():
    report, program = int(sys.argv[1]), sys.argv[2:]

    def say(line):
        os.write(report, (line + "\n").encode())

    fcntl.ioctl(0, termios.TIOCSCTTY, 0)
    signal.signal(signal.SIGTTOU, signal.SIG_IGN)  # it takes the terminal back while it is not in front
    signal.pthread_sigmask(signal.SIG_BLOCK, HEEDED)
    pid = start(program, report)
    say(f"pid {pid}")
    while True:
        number = signal.sigwait(HEEDED)
        if number == signal.SIGHUP:
            os.killpg(pid, signal.SIGHUP)
            os.killpg(pid, signal.SIGCONT)
        elif number == signal.SIGUSR1:
            os.tcsetpgrp(0, pid)
            os.killpg(pid, signal.SIGCONT)
        changed, status = os.waitpid(pid, os.WUNTRACED | os.WNOHANG)
        if changed and os.WIFSTOPPED(status):
            os.tcsetpgrp(0, os.getpgrp())
            say("stopped")
        elif changed:
            return say(f"exit {128 + os.WTERMSIG(status) if os.WIFSIGNALED(status) else os.WEXITSTATUS(status)}")


if __name__ == "__main__":
    main()
