#!/usr/bin/env bash
# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
# Lines and branches that the C++ tests run in code that reads untrusted bytes: the executor with
# its verifier and parametric plans, the loaders, and the verifier of XNNPACK's payloads. Prints a
# table for each file, and compares totals with the targets.
#
#   bash test/coverage.sh
#
# The tables name the lines and branches that no test runs. Needs an environment that test/run.sh has made; the Python tests are
# not counted.
source "$(dirname "$0")/../.ci/environment.sh"
cd "$root"
make_venv
python -m pip install -q "gcovr>=8,<9"
build=build/coverage
tests=(runtime_executor_test memory_test faults_test fuzz_test fuzz_hostile_test extension_flat_tensor_test extension_data_loader_test
  extension_module_test extension_async_test devtools_bundled_program_test)
cmake -S . -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DEXECUTORCH_BUILD_TESTS=ON -DEXECUTORCH_BUILD_XNNPACK=AUTO \
  -DCMAKE_PROJECT_executorch_INCLUDE="$root/test/coverage.cmake" -DPython3_EXECUTABLE="$venv/bin/python" >/dev/null
if grep -q backends_xnnpack_test "$build/build.ninja"; then
  tests+=(backends_xnnpack_test backends_xnnpack_payload_test backends_xnnpack_hostile_test)
fi
fuzzers=(program_fuzzer data_file_fuzzer bundle_fuzzer)
[[ ${tests[*]} != *xnnpack* ]] || fuzzers+=(xnnpack_fuzzer)
cmake --build "$build" --parallel 2 --target "${tests[@]}" "${fuzzers[@]}"
find "$build" -name '*.gcda' -delete
for test in "${tests[@]}"; do
  ET_FUZZ_RUNS=300 "$build/test/$test" --gtest_brief=1
done
# As test/fuzz/run.sh --brief: what it finds is reported there.
for fuzzer in "${fuzzers[@]}"; do
  corpus=$root/test/fuzz/corpus/${fuzzer%_fuzzer}
  mkdir -p "$build/no-corpus"
  "$build/fuzz/$fuzzer" --seconds=3600 --runs=3000 --seed=1 --findings="$build/findings" test/data "$([ -d "$corpus" ] && echo "$corpus" || echo "$build/no-corpus")" || true
done

# measure NAME LINES BRANCHES FILTER...: a table, and whether both percentages are reached.
failed=0
measure() {
  local name=$1 lines=$2 branches=$3 filters=()
  shift 3
  for filter in "$@"; do filters+=(--filter "$filter"); done
  printf '\n== %s\n' "$name"
  local report=(gcovr --root . --object-directory "$build" --exclude-throw-branches --exclude-unreachable-branches
    --gcov-ignore-parse-errors=all --merge-mode-functions=merge-use-line-0 "${filters[@]}")
  "${report[@]}" --txt-metric line "$build"
  "${report[@]}" --txt-metric branch "$build" | sed -n '/^TOTAL/s/TOTAL/TOTAL (branches)/p'
  "${report[@]}" --fail-under-line "$lines" --fail-under-branch "$branches" "$build" >/dev/null 2>&1 ||
    { echo "below the target: $lines % of lines, $branches % of branches"; failed=1; }
}
measure "executor, with its verifier and parametric plans" 98 95 'runtime/executor/'
measure "verifier of XNNPACK's payloads" 98 95 'backends/xnnpack/runtime/payload/'
measure "loaders" 98 95 'extension/data_loader/' 'extension/flat_tensor/' 'devtools/bundled_program/bundle.cpp'
exit "$failed"
