#!/usr/bin/env bash
# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
# Exports custom_ops_1.pte and runs it: bash examples/portable/custom_ops/test_custom_ops.sh
#   PYTHON_EXECUTABLE  the interpreter; python3 unless set
#   CMAKE_PREFIX_PATH  an installed package; unless set, the tree is built and installed into cmake-out
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../../.."
python=${PYTHON_EXECUTABLE:-python3}
jobs=${CMAKE_BUILD_PARALLEL_LEVEL:-$(nproc 2>/dev/null || echo 2)}
if [ -z "${CMAKE_PREFIX_PATH:-}" ]; then
  cmake -S . -B cmake-out -DCMAKE_BUILD_TYPE=Release -DCMAKE_INSTALL_PREFIX=cmake-out -DPYTHON_EXECUTABLE="$python"
  cmake --build cmake-out --target install --parallel "$jobs"
fi
"$python" -m examples.portable.custom_ops.custom_ops_1
build=cmake-out/examples/portable/custom_ops
cmake -S examples/portable/custom_ops -B "$build" -DCMAKE_BUILD_TYPE=Release -DPYTHON_EXECUTABLE="$python"
cmake --build "$build" --parallel "$jobs"
"$build/custom_ops_executor_runner" --model_path=custom_ops_1.pte
