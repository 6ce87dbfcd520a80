#!/usr/bin/env bash
# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
# Installs what testing needs and runs every check and every test.
source "$(dirname "$0")/../.ci/environment.sh"
cd "$root"
need_packages make git libeigen3-dev libgtest-dev libssl-dev libpcre2-dev libutf8proc-dev nlohmann-json3-dev \
  chromium gcc-arm-none-eabi libnewlib-arm-none-eabi \
  libstdc++-arm-none-eabi-newlib qemu-system-arm
need_32_bit_compiler
want_packages ccache
make_venv

# compile_sanitized: for the C++ tests, and for replaying kernel calls, the portable kernels' on 32 bits too.
compile_sanitized() {
  cmake --fresh -S . -B build/sanitized "${sanitized_options[@]}" -DEXECUTORCH_BUILD_TESTS=ON -DEXECUTORCH_BUILD_EXECUTOR_RUNNER=OFF
  cmake --build build/sanitized --parallel 2
  cmake --fresh -S . -B build/bits32 "${sanitized_options[@]}" -DCMAKE_CXX_FLAGS="$bits32_flags" -DEXECUTORCH_BUILD_REPLAY=ON
  cmake --build build/bits32 --parallel 2 --target replay_portable
}

# Sanitized builds need no torch, so they run while pip, linkers and linters leave a core free. Job control (set -m) gives
# the builds a process group of their own, which ends as a whole if this script ends early.
install_build_tools
mkdir -p build
set -m
(renice -n 10 "$BASHPID"; compile_sanitized) </dev/null >build/beside.log 2>&1 &
compiling=$!
set +m
trap 'kill -- "-$compiling" 2>/dev/null || true' EXIT

install_for_tests
step "the build with the tests"
cmake --build build/editable --parallel 2

step "linters"
ruff check .
ruff format --check .
bash .ci/typecheck.sh
git ls-files '*.h' '*.cpp' | xargs clang-format --dry-run --Werror
bash .ci/tidy.sh --sample

step "sanitizers: C++ tests and fuzzing under ASan and UBSan"
wait "$compiling" || { cat build/beside.log; exit 1; }
ctest --test-dir build/sanitized --output-on-failure --parallel 2

step "fuzzing: the corpus, and changed inputs that are the same every time"
bash test/fuzz/run.sh --brief

step "ATen mode: the same sources with at::Tensor"
cmake --fresh -S . -B build/aten -G Ninja -DCMAKE_BUILD_TYPE=Debug -DCMAKE_CXX_FLAGS_DEBUG=-O0 \
  -DEXECUTORCH_BUILD_ATEN=ON -DEXECUTORCH_BUILD_PYBIND=ON -DEXECUTORCH_BUILD_XNNPACK=AUTO -DEXECUTORCH_BUILD_TESTS=ON \
  -DPython3_EXECUTABLE="$venv/bin/python" >/dev/null
cmake --build build/aten --parallel 2 --target executor_runner_aten aten_mode_test _aten_lib
cmake --install build/aten --prefix "$root" --component aten_python >/dev/null
build/aten/test/aten_mode_test --gtest_brief=1
export EXECUTORCH_ATEN_RUNNER=$root/build/aten/executor_runner_aten

export OMP_NUM_THREADS=1  # torch's: either worker has a core, on which more of its threads would only wait for each other
step "pytest: the portable kernels that the optimized ones hide"
EXECUTORCH_KERNEL_ENTRY=$root/build/editable/test/libkernel_entry_portable.so \
  python -m pytest -q -n 2 test/kernels/portable -k "matmul or convolution or normalize or activation"
step "pytest"
rm -rf build/recorded_calls
# Chosen tests run all their cases: bash test/run.sh test
(($#)) || set -- --sample
EXECUTORCH_RECORD_CALLS=$root/build/recorded_calls python -m pytest -q -n 2 --dist loadfile --no-loadscope-reorder --durations=40 "$@"
step "model coverage: a part of the kept matches again, which the commit chooses"
python -m test.coverage --sample 30
step "ctest"
ctest --test-dir build/editable --output-on-failure --parallel 2

# Only all tests have called every kernel.
[ "$*" = --sample ] || exit 0
step "the tests' kernel calls again, as they were and changed: under sanitizers and on 32 bits"
for replay in build/sanitized/test/replay{,_portable} build/bits32/test/replay_portable; do
  printf '%s\n' "$replay" "$replay --mutations=20"
done | xargs -P 2 -I {} bash -c '{} build/recorded_calls/*.calls'
