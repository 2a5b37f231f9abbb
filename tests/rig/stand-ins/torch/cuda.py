# SPDX-License-Identifier: MIT
"""Stand-in for torch.cuda: one GB10, seen when its device nodes are there and CUDA_VISIBLE_DEVICES does not hide it."""

import os

_DEVICE_NODES = ("/dev/nvidia0", "/dev/nvidiactl")


def _visible() -> bool:
    """CUDA reads the list from the left and stops at the first entry that names no device."""
    listed = os.environ.get("CUDA_VISIBLE_DEVICES")
    if listed is None:
        return True
    first = listed.split(",")[0].strip()
    return first == "0" or first.startswith(("GPU-", "MIG-"))


def is_available() -> bool:
    """Stand-in: true when a GPU could be used."""
    return device_count() > 0


def device_count() -> int:
    """Stand-in: 1 with a GPU, else 0."""
    return int(all(os.access(node, os.R_OK | os.W_OK) for node in _DEVICE_NODES) and _visible())


def _require(device) -> None:
    if not is_available():
        raise RuntimeError("No CUDA GPUs are available")
    if device not in (None, 0, "cuda", "cuda:0"):
        raise AssertionError("Invalid device id")


def get_device_capability(device=None) -> tuple[int, int]:
    """Stand-in: the compute capability of GB10."""
    _require(device)
    return (12, 1)


def get_device_name(device=None) -> str:
    """Stand-in: the name of GB10."""
    _require(device)
    return "NVIDIA GB10"


def get_arch_list() -> list[str]:
    """Stand-in: what NGC's build was compiled for; empty without a GPU, as in the real one."""
    return ["sm_80", "sm_86", "sm_90", "sm_100", "sm_110", "sm_120", "compute_120"] if is_available() else []


def mem_get_info(device=None) -> tuple[int, int]:
    """Stand-in: (free, total) bytes, from the memory that GB10 shares with the CPU."""
    _require(device)
    with open("/proc/meminfo", encoding="ascii") as lines:
        kilobytes = {name: int(rest.split()[0]) for name, rest in (line.split(":") for line in lines)}
    return kilobytes["MemAvailable"] * 1024, kilobytes["MemTotal"] * 1024
