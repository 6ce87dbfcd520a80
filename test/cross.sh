#!/usr/bin/env bash
# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
# Builds the runtime for other processors and runs its tests there, in QEMU:
#
#   test/cross.sh [aarch64 | riscv64 | cortex-m3 | cortex-m4 | cortex-m55]...
#
# Linux processors run the C++ tests, and the kernel calls that Python tests recorded in build/recorded_calls (test/run.sh);
# without such a folder, those of test/kernels/portable are recorded first. Results must equal the recorded ones. Cortex-M
# runs test/firmware. After a failure the rest still runs. A summary ends the output; the exit code is 0 if all parts
# passed. The script installs Debian packages as root or by sudo, and Python packages into .venv.
source "$(dirname "$0")/../.ci/environment.sh"
cd "$root"
known=(aarch64 riscv64 cortex-m3 cortex-m4 cortex-m55)
(($#)) || set -- "${known[@]}"
for preset in "$@"; do
  [[ " ${known[*]} " == *" $preset "* ]] || { echo "unknown processor $preset; known: ${known[*]}" >&2; exit 2; }
done
# Installs only what the given processors need.
packages=(g++ make)
for preset in "$@"; do
  case $preset in
    cortex-*) packages+=(gcc-arm-none-eabi libnewlib-arm-none-eabi libstdc++-arm-none-eabi-newlib qemu-system-arm) ;;
    *) packages+=(libgtest-dev qemu-user "g++-$preset-linux-gnu") ;;
  esac
done
need_packages "${packages[@]}"
want_packages ccache
make_venv
python -c 'import torch, flatc, yaml, pytest, executorch.extension.pybindings._portable_lib' 2>/dev/null || install_for_tests

summary=()
failed=0
# check PART COMMAND...: runs the command, and adds its outcome to the summary.
check() {
  local part=$1 began=$SECONDS code=0
  shift
  step "$part"
  "$@" || code=$?
  if ((code == 0)); then
    summary+=("passed  $part, $((SECONDS - began)) s")
  else
    summary+=("FAILED  $part, $((SECONDS - began)) s, exit code $code")
    failed=1
  fi
  return "$code"
}

record_calls() {
  [ -f build/editable/CMakeCache.txt ] || install_for_tests
  cmake -S . -B build/editable >/dev/null && cmake --build build/editable --parallel 2 --target kernel_entry &&
    EXECUTORCH_RECORD_CALLS=$root/build/recorded_calls python -m pytest -q -n 2 --dist loadfile test/kernels/portable
}

build_for() {
  cmake --fresh --preset "$1" -DPython3_EXECUTABLE="$(command -v python)" >/dev/null &&
    cmake --build --preset "$1" --parallel "${CMAKE_BUILD_PARALLEL_LEVEL:-2}"
}

run_on_linux() {
  check "$1: build" build_for "$1" || return 0  # the failure is recorded; there is nothing to run
  # EXECUTORCH_EMULATED makes tests skip what the emulator lacks.
  EXECUTORCH_EMULATED=1 check "$1: C++ tests" ctest --test-dir "build/$1" --output-on-failure --no-tests=error --parallel 2 || true
  for replay in replay replay_portable; do
    check "$1: recorded kernel calls, $replay" \
      "qemu-$1" -L "/usr/$1-linux-gnu" "build/$1/test/$replay" build/recorded_calls/*.calls || true
  done
}

if [[ " $* " == *64\ * ]] && ! compgen -G "build/recorded_calls/*.calls" >/dev/null; then
  check "recording kernel calls" record_calls || true
fi
for preset in "$@"; do
  if [[ $preset == cortex-* ]]; then
    check "$preset: firmware" env EXECUTORCH_FIRMWARE_PRESETS="$preset" python -m pytest -q test/firmware || true
  else
    run_on_linux "$preset"
  fi
done

step "summary"
printf '%s\n' "${summary[@]}"
exit "$failed"
