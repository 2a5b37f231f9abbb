# SPDX-License-Identifier: MIT
"""Stand-in for torch.backends."""

from . import cuda

__all__ = ["cuda"]
