# SPDX-License-Identifier: MIT
"""Stand-in for flash-attn as NGC bundles it: a version, no kernels."""

__version__ = "2.7.4.post1"
