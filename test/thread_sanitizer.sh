#!/usr/bin/env bash
# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
# Executions of programs on several threads under ThreadSanitizer: the tests of the executor, of Module and of the thread
# pool, with loading, cancelling, destroying, fork() and exit at the same time (module_lifetime_test.cpp), and real kernels and
# delegates (test/concurrent_programs.py). XNNPACK's own code is not instrumented; its callers and threads are. Needs an environment that test/run.sh has made.
source "$(dirname "$0")/../.ci/environment.sh"
cd "$root"
make_venv
cmake --fresh -S . -B build/threads -G Ninja -DCMAKE_BUILD_TYPE=RelWithDebInfo -DCMAKE_CXX_FLAGS_RELWITHDEBINFO="-O1 -g1" \
  -DEXECUTORCH_BUILD_TESTS=ON -DEXECUTORCH_BUILD_XNNPACK=AUTO -DEXECUTORCH_SANITIZE=thread \
  -DPython3_EXECUTABLE="$venv/bin/python" >/dev/null
cmake --build build/threads --parallel 2 --target runtime_executor_test extension_async_test extension_module_test extension_threadpool_test
programs=$(mktemp -d)
trap 'rm -r "$programs"' EXIT
python test/concurrent_programs.py "$programs"
export TSAN_OPTIONS=halt_on_error=1
for tests in runtime_executor extension_async extension_threadpool extension_module; do
  # GCC's sanitizer fails where a process that was forked from threads starts threads of its own.
  EXECUTORCH_CONCURRENT_PROGRAMS=$programs "build/threads/test/${tests}_test" --gtest_brief=1 \
    --gtest_filter=-ThreadPool.ItsWorkersStartAgainInAForkedProcess
done
