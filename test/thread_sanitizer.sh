#!/usr/bin/env bash
# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
# Executions of programs on several threads under ThreadSanitizer: the tests of the executor, of Module and of the thread
# pool, with loading, cancelling, destroying, fork() and exit at the same time (module_lifetime_test.cpp), real kernels and
# delegates (test/concurrent_programs.py), runners, tokenizers, and state that XNNPACK delegates share. XNNPACK's callers and
# threads are instrumented, its code is excluded. Needs an environment that test/run.sh has made.
source "$(dirname "$0")/../.ci/environment.sh"
cd "$root"
make_venv
cmake --fresh -S . -B build/threads -G Ninja -DCMAKE_BUILD_TYPE=RelWithDebInfo -DCMAKE_CXX_FLAGS_RELWITHDEBINFO="-O1 -g1" \
  -DEXECUTORCH_BUILD_TESTS=ON -DEXECUTORCH_BUILD_XNNPACK=AUTO -DEXECUTORCH_SANITIZE=thread \
  -DPython3_EXECUTABLE="$venv/bin/python" >/dev/null
programs_with_threads=(runtime_executor extension_async extension_threadpool extension_module extension_llm_runner
  extension_llm_tokenizers)
! grep -q backends_xnnpack_test build/threads/build.ninja || programs_with_threads+=(backends_xnnpack)
cmake --build build/threads --parallel 2 --target "${programs_with_threads[@]/%/_test}"
programs=$(mktemp -d)
trap 'rm -r "$programs"' EXIT
python test/concurrent_programs.py "$programs"
export TSAN_OPTIONS=halt_on_error=1
for tests in "${programs_with_threads[@]}"; do
  # GCC's sanitizer fails where a process that was forked from threads starts threads of its own.
  EXECUTORCH_CONCURRENT_PROGRAMS=$programs "build/threads/test/${tests}_test" --gtest_brief=1 \
    --gtest_filter=-ThreadPool.ItsWorkersStartAgainInAForkedProcess
done
