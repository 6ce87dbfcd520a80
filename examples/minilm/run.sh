#!/usr/bin/env bash
# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
# Installs everything, exports MiniLM, searches a text with it from Python, and runs the same program in executor_runner.
source "$(dirname "$0")/../../.ci/environment.sh"
[ $# -ge 1 ] || { echo "usage: $0 QUERY [options of search.py]" >&2; exit 2; }
need_packages g++ git
want_packages ccache
make_venv
install export,examples
program=$root/build/minilm.pte  # a shared folder could hold a file of another user
mkdir -p "$root/build"
step "searching"
python "$root/examples/minilm/search.py" "$@" --program "$program"
step "the same program in executor_runner"
executor_runner --model_path "$program" --num_executions 3
