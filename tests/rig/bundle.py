# SPDX-License-Identifier: MIT
"""What the stand-ins for OCI runtimes share: they edit what runc is about to read, then become runc."""

import json
import os
import resource

CAP_SYS_RESOURCE = 24


def may_raise_limits() -> bool:
    with open("/proc/self/status", encoding="ascii") as lines:
        effective = next(int(line.split()[1], 16) for line in lines if line.startswith("CapEff:"))
    return bool(effective >> CAP_SYS_RESOURCE & 1)


def lower_limits(process: dict) -> None:
    """--ulimit memlock=-1 needs CAP_SYS_RESOURCE; without it runc gives up, so ask for what may be had."""
    if may_raise_limits():
        return
    for limit in process.get("rlimits") or ():
        _, ours = resource.getrlimit(getattr(resource, limit["type"]))
        if ours != resource.RLIM_INFINITY:
            limit["hard"] = min(limit["hard"], ours)
            limit["soft"] = min(limit["soft"], ours)


def value_of(option: str, arguments: list[str]) -> str | None:
    return arguments[arguments.index(option) + 1] if option in arguments else None


def rewrite(path: str, edit) -> None:
    with open(path, encoding="utf-8") as file:
        document = json.load(file)
    edit(document)
    with open(path, "w", encoding="utf-8") as file:
        json.dump(document, file)


def prepare(arguments: list[str], edit) -> None:
    """Lowers the limits in what runc reads for these arguments; `edit` changes the specification of a new container."""

    def edit_specification(specification: dict) -> None:
        lower_limits(specification["process"])
        edit(specification)

    if "create" in arguments:
        rewrite(os.path.join(value_of("--bundle", arguments) or ".", "config.json"), edit_specification)
    elif "exec" in arguments and (process_file := value_of("--process", arguments)):
        rewrite(process_file, lower_limits)
