#!/usr/bin/env bash
# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
# mypy, strict, on the packages by their import names: a link stands for the package's root.
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
link=$(mktemp -d)
trap 'rm -rf "$link"' EXIT
ln -s "$root" "$link/executorch"
cd "$link"
MYPYPATH=$link python -m mypy --config-file "$root/pyproject.toml" --cache-dir "${XDG_CACHE_HOME:-$HOME/.cache}/executorch-mypy" \
  -p executorch.exir -p executorch.runtime -p executorch.codegen -p executorch.export -p executorch.util -p executorch.backends -p executorch.devtools \
  -p executorch.extension.llm -p executorch.examples.models -p executorch.examples.portable -p executorch.examples.xnnpack
