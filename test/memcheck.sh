#!/usr/bin/env bash
# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
# Hostile programs and payloads, and the tests of the executor, under Valgrind's Memcheck. It reports every branch, address and
# system call that depends on uninitialized memory, as MemorySanitizer does, which GCC lacks. Ends with 1 after a report. Needs an
# environment that test/run.sh has made; builds the programs.
#
#   bash test/memcheck.sh [SHARD]    # SHARD: one of 8 parts of the tests, 0 to 7; all if it is left out
source "$(dirname "$0")/../.ci/environment.sh"
cd "$root"
need_packages valgrind
make_venv
shards=8
failed=0
cmake --build build/editable --parallel 2 --target fuzz_hostile_test runtime_executor_test
cmake --build build/editable --parallel 2 --target backends_xnnpack_hostile_test || failed=1
for shard in $(if [ $# -gt 0 ]; then echo "$1"; else seq 0 $((shards - 1)); fi); do
  for test in fuzz_hostile:*HostileProgramTest* runtime_executor:-*DeathTest* backends_xnnpack_hostile:*HostilePayloadTest*; do
    program=build/editable/test/${test%%:*}_test
    [ -x "$program" ] || { echo "$program is not built"; failed=1; continue; }
    report=build/memcheck-${test%%:*}-$shard.txt
    GTEST_TOTAL_SHARDS=$shards GTEST_SHARD_INDEX=$shard valgrind --error-exitcode=1 --error-limit=no --num-callers=25 \
      --suppressions=test/memcheck.supp --log-file="$report" "$program" --gtest_brief=1 --gtest_filter="${test#*:}" >"$report.output" 2>/dev/null || failed=1
    echo "${test%%:*}, part $shard: $(tail -n 1 "$report.output"), $(grep -o 'ERROR SUMMARY: [0-9]* errors' "$report")"
  done
done
exit "$failed"
