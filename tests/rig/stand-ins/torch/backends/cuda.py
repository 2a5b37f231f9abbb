# SPDX-License-Identifier: MIT
"""Stand-in for torch.backends.cuda."""


def flash_sdp_enabled() -> bool:
    """Stand-in: true, which is the default of the real one."""
    return True
