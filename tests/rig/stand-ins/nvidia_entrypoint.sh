#!/bin/bash
# SPDX-License-Identifier: MIT
# Stand-in for the entrypoint of an NGC image: talks before it hands over, so whoever reads the output of a command
# that runs through it meets the banner first.

cat <<BANNER

=============
== ${NVIDIA_PRODUCT_NAME:-PyTorch} ==
=============

NVIDIA Release ${NVIDIA_PYTORCH_VERSION:-unknown} (build ${NVIDIA_BUILD_ID:-0})
PyTorch Version ${PYTORCH_VERSION:-unknown}

This is a stand-in made by the sparkrun test rig. It holds no NVIDIA software.

BANNER

if [ ! -e /dev/nvidiactl ]; then
  echo "WARNING: no NVIDIA driver in this container, so no GPU work either."
  echo "         Start it with 'docker run --gpus all'."
  echo
fi

if [ $# -eq 0 ]; then
  exec /bin/bash
fi
exec "$@"
