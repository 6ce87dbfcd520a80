#!/usr/bin/env bash
# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
# clang-tidy with the checks of .clang-tidy, on C++ sources that build/editable compiles.
#   bash .ci/tidy.sh           all sources, in about ten minutes on two cores
#   bash .ci/tidy.sh --sample  an eighth of the sources, which the commit chooses
#   bash .ci/tidy.sh FILE…     the given sources
set -euo pipefail
cd "$(dirname "$0")/.."
commands=build/editable/compile_commands.json
[ -f "$commands" ] || { echo "$0: $commands is missing: install the package with --editable first" >&2; exit 2; }
git ls-files '*.cpp' | python -c '
import json, os, sys
commands, part, *chosen = sys.argv[1:]
with open(commands) as file:
    compiled = {os.path.realpath(one["file"]) for one in json.load(file)}
files = [name for name in map(str.strip, sys.stdin) if os.path.realpath(name) in compiled and not name.startswith("test/")]
if chosen == ["--sample"]:
    files = files[int(part) :: 8]
elif chosen:
    places = {os.path.realpath(name): name for name in files}
    for name in chosen:
        if os.path.realpath(name) not in places:
            print(f"{name}: not checked, because {commands} does not have it", file=sys.stderr)
    files = [places[place] for place in map(os.path.realpath, chosen) if place in places]
print(*files, sep="\n")
' "$commands" "$(python test/commit_part.py 8)" "$@" | xargs --no-run-if-empty -n 4 -P 2 clang-tidy -p build/editable --quiet \
  --extra-arg=-Wno-error --extra-arg=-Wno-unknown-warning-option 2> >(grep -v -e 'warnings\? generated' -e 'Suppressed' -e 'Use -header-filter' >&2)
