# SPDX-License-Identifier: MIT
"""Stand-in for PyTorch: versions and what it says about the GPU, nothing that computes."""

from . import backends, cuda, version
from .version import __version__

__all__ = ["__version__", "backends", "cuda", "version"]
