# SPDX-License-Identifier: MIT
"""What a `docker run` argv means, read by tables of its own: nothing here is shared with sparkrun."""

import collections
import csv
import posixpath
import re

# Options that take a value, and what two of one mean: the last one, all of them, or NAME=VALUE pairs.
LAST = """cgroup-parent cgroupns cidfile cpu-period cpu-quota cpu-rt-period cpu-rt-runtime cpu-shares cpus cpuset-cpus
cpuset-mems detach-keys domainname entrypoint health-cmd health-interval health-retries health-start-interval
health-start-period health-timeout hostname ip ip6 ipc isolation log-driver mac-address memory memory-reservation
memory-swap memory-swappiness name oom-score-adj pid pids-limit platform pull restart runtime shm-size stop-signal
stop-timeout user userns uts volume-driver workdir blkio-weight arch os pod systemd tz umask timeout""".split()
ALL = """add-host attach blkio-weight-device cap-add cap-drop device device-cgroup-rule device-read-bps device-read-iops
device-write-bps device-write-iops dns dns-option dns-search env env-file expose gpus group-add label-file link
link-local-ip mount network network-alias publish security-opt tmpfs volume volumes-from secret uidmap gidmap""".split()
PAIRS = "annotation label log-opt storage-opt sysctl ulimit".split()
FLAGS = """detach disable-content-trust help init interactive no-healthcheck oom-kill-disable privileged publish-all quiet
read-only rm sig-proxy tty use-api-socket replace rmi""".split()
SHORT = {"a": "attach", "c": "cpu-shares", "d": "detach", "e": "env", "h": "hostname", "i": "interactive", "l": "label",
         "m": "memory", "P": "publish-all", "p": "publish", "q": "quiet", "t": "tty", "u": "user", "v": "volume",
         "w": "workdir"}
SYNONYMS = {"net": "network", "net-alias": "network-alias", "dns-opt": "dns-option"}
ON_BY_DEFAULT = {"sig-proxy"}
# Each run decides these.
IGNORED = {"interactive", "tty", "cidfile", "quiet", "disable-content-trust"}


def is_secret(name):
    return re.search(r"(TOKEN|PASSWORD|SECRET|API_?KEY|_KEY|PASS)$", name.upper()) is not None


def options_of(words):
    """[(name, value)] in order, and the index of the image; value None for a flag."""
    found, at = [], 0
    while at < len(words) and words[at].startswith("-") and words[at] not in ("-", "--"):
        word = words[at]
        at += 1
        if word.startswith("--"):
            name, has_value, value = word[2:].partition("=")
            name = SYNONYMS.get(name, name)
            if name in FLAGS:
                found.append((name, value if has_value else "true"))
            elif has_value:
                found.append((name, value))
            else:
                assert name in LAST + ALL + PAIRS, word
                found.append((name, words[at]))
                at += 1
            continue
        letters = word[1:]
        while letters:
            name, letters = SHORT[letters[0]], letters[1:]
            if name in FLAGS and not letters.startswith("="):
                found.append((name, "true"))
                continue
            if letters:
                found.append((name, letters.removeprefix("=")))
            else:
                found.append((name, words[at]))
                at += 1
            break
    return found, at + (1 if words[at:at + 1] == ["--"] else 0)


def path(text, base):
    return posixpath.normpath(posixpath.join(base, text))


def volume(value, base):
    """target -> (source, options); the source of an anonymous volume is None."""
    parts = value.split(":")
    if len(parts) == 1:
        return {value: (None, ())}
    source = path(parts[0], base) if parts[0][0] in "./" else parts[0]
    options = sorted(set(parts[2].split(",")) - {"rw", ""}) if len(parts) > 2 else []
    return {posixpath.normpath(parts[1]): (source, tuple(options))}


def mount(value, base):
    fields = dict((field.partition("=")[::2]) for field in next(csv.reader([value])))
    kind = fields.pop("type", "volume")
    source = fields.pop("source", fields.pop("src", None))
    target = next(fields.pop(key) for key in ("target", "dst", "destination") if key in fields)
    options = [fields.pop("bind-propagation")] if "bind-propagation" in fields else []
    for key in ("readonly", "ro"):
        if key in fields and fields.pop(key) in ("", "1", "true"):
            options.append("ro")
    if kind not in ("bind", "volume") or fields:
        return {posixpath.normpath(target): (kind, source, tuple(sorted(fields.items())), tuple(options))}
    return {posixpath.normpath(target): (path(source, base) if kind == "bind" else source, tuple(sorted(options)))}


def variables(values):
    """name -> value; None: the host's. Of a secret only that there is one."""
    result = {}
    for value in values:
        name, has_value, text = value.partition("=")
        result[name] = "(secret)" if is_secret(name) else text if has_value else None
    return result


def platform(last):
    if "arch" in last or "os" in last:
        return f"{last.pop('os', 'linux')}/{last.pop('arch', 'arm64')}"
    return last.pop("platform", None)


def meaning(argv, base="/"):
    """A value that is equal for two lines that do the same. `base`: what relative paths start from."""
    assert argv[1] == "run", argv
    options, end = options_of(argv[2:])
    image, *command = argv[2:][end:]
    last, every, pairs = {}, collections.defaultdict(list), collections.defaultdict(dict)
    flags = {name: True for name in ON_BY_DEFAULT}
    for name, value in options:
        if name in IGNORED:
            continue
        if name in FLAGS:
            flags[name] = value.lower() in ("true", "1", "t")
        elif name in PAIRS:
            key, _, text = value.partition("=")
            pairs[name][key] = text
        elif name in ALL:
            every[name].append(value)
        else:
            last[name] = value
    volumes = {}
    for name, value in options:
        if name in ("volume", "mount"):
            volumes |= (volume if name == "volume" else mount)(value, base)
    every.pop("volume", None), every.pop("mount", None)
    return {
        "image": image,
        "command": command,
        "platform": platform(last),
        "env": variables(every.pop("env", [])),
        "env-file": [path(value, base) for value in every.pop("env-file", [])],
        "gpus": [next(csv.reader([value])) for value in every.pop("gpus", [])],
        "volumes": volumes,
        "flags": {name for name, is_on in flags.items() if is_on},
        "last": last,
        "all": {name: sorted(values) for name, values in every.items()},
        "pairs": dict(pairs),
    }
