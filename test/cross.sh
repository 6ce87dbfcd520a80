#!/usr/bin/env bash
# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
# Builds the runtime for other processors and runs there, in QEMU, what tests it:
#
#   test/cross.sh [aarch64 | riscv64 | cortex-m3 | cortex-m4 | cortex-m55]...
#
# On Linux's: the C++ tests, and the kernel calls that the Python tests recorded in build/recorded_calls (test/run.sh must
# have run), their results compared with what was recorded. On Cortex-M: test/firmware.
source "$(dirname "$0")/../.ci/environment.sh"
cd "$root"
(($#)) || set -- aarch64 riscv64 cortex-m3 cortex-m4 cortex-m55
need_packages ccache libgtest-dev qemu-user g++-aarch64-linux-gnu g++-riscv64-linux-gnu gcc-arm-none-eabi \
  libnewlib-arm-none-eabi libstdc++-arm-none-eabi-newlib qemu-system-arm
make_venv

for preset in "$@"; do
  step "$preset"
  if [[ $preset == cortex-* ]]; then
    EXECUTORCH_FIRMWARE_PRESETS=$preset python -m pytest -q test/firmware
    continue
  fi
  cmake --preset "$preset" -DPython3_EXECUTABLE="$(command -v python)" >/dev/null
  cmake --build --preset "$preset" --parallel "${CMAKE_BUILD_PARALLEL_LEVEL:-2}"
  ctest --test-dir "build/$preset" --output-on-failure --parallel 2
  for replay in replay replay_portable; do
    "qemu-$preset" -L "/usr/$preset-linux-gnu" "build/$preset/test/$replay" build/recorded_calls/*.calls
  done
done
