#!/usr/bin/env bash
# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
# Builds cmake-out/examples/devtools/example_runner.
#   --xnnpack, --no-xnnpack  with or without XNNPACK; default: the choice of the source tree's build
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
jobs=${CMAKE_BUILD_PARALLEL_LEVEL:-$(nproc 2>/dev/null || echo 2)}
options=()
for argument in "$@"; do
  case $argument in
    --xnnpack) options+=(-DEXECUTORCH_BUILD_XNNPACK=ON) ;;
    --no-xnnpack) options+=(-DEXECUTORCH_BUILD_XNNPACK=OFF) ;;
    -h | --help) sed -n 's/^# \{0,1\}//p' "${BASH_SOURCE[0]}" | tail -n +2; exit 0 ;;
    *) echo "$0: expected --xnnpack or --no-xnnpack, found '$argument'" >&2; exit 2 ;;
  esac
done
cmake -S . -B cmake-out -DCMAKE_BUILD_TYPE=Release -DCMAKE_INSTALL_PREFIX="$PWD/cmake-out/install" -DEXECUTORCH_BUILD_DEVTOOLS=ON \
  -DEXECUTORCH_ENABLE_EVENT_TRACER=ON -DEXECUTORCH_ENABLE_LOGGING=ON "${options[@]}"
cmake --build cmake-out --target install --parallel "$jobs"
cmake -S examples/devtools -B cmake-out/examples/devtools -DCMAKE_BUILD_TYPE=Release -DCMAKE_PREFIX_PATH="$PWD/cmake-out/install"
cmake --build cmake-out/examples/devtools --parallel "$jobs"
echo "built cmake-out/examples/devtools/example_runner"
