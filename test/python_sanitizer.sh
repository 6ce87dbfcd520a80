#!/usr/bin/env bash
# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
# The Python extension under AddressSanitizer and UndefinedBehaviorSanitizer: tests of hostile inputs, sealed types, tensors, threads
# and the interpreter's exit. Python is not instrumented, so the sanitizer's library is loaded before it. Leaks are not
# reported, because Python and torch keep memory until exit. Needs an environment that test/run.sh has made.
#
#   bash test/python_sanitizer.sh [ARGUMENT...]     # of pytest; without any: test/extension/pybindings
source "$(dirname "$0")/../.ci/environment.sh"
cd "$root"
make_venv
build=$root/build/sanitized
cmake -S . -B "$build" "${sanitized_options[@]}" -DEXECUTORCH_BUILD_TESTS=ON -DEXECUTORCH_BUILD_PYBIND=ON >/dev/null
cmake --build "$build" --parallel 2 --target _portable_lib

# A package of links, with the sanitized extension in place of the installed one; it precedes the installed package.
packages=$build/python
package=$packages/executorch
rm -rf "$packages"
mkdir -p "$package/extension/pybindings"
for entry in * extension/* extension/pybindings/*; do
  case $entry in
    build | extension | extension/pybindings | *.so) ;;
    *) ln -s "$root/$entry" "$package/$entry" ;;
  esac
done
ln -s "$build"/extension/pybindings/_portable_lib*.so "$package/extension/pybindings"

(($#)) || set -- test/extension/pybindings
library() { g++ -print-file-name="$1"; }
# libstdc++ as well: the sanitizer intercepts exceptions of libraries that load it later.
export PYTHONPATH=$packages ASAN_OPTIONS=detect_leaks=0 UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1 PYTHONMALLOC=malloc
preloaded="$(library libasan.so) $(library libubsan.so) $(library libstdc++.so.6)"
LD_PRELOAD=$preloaded python -c 'import executorch.extension.pybindings._portable_lib as lib; print(lib.__file__)'
LD_PRELOAD=$preloaded python -m pytest -q -p no:cacheprovider "$@"
