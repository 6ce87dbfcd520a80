#!/usr/bin/env bash
# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
# Builds the documentation site: docs/_build/html/index.html. Installs its requirements; a second run rebuilds only
# changed pages.
#   bash docs/build.sh          the whole site, with the notebook executed
#   bash docs/build.sh --quick  without executing the notebook and without pictures that need a run
source "$(dirname "$0")/../.ci/environment.sh"
case "${1-}" in
  "") unset EXECUTORCH_DOCS_QUICK ;;
  --quick) export EXECUTORCH_DOCS_QUICK=1 ;;
  *) echo "usage: $0 [--quick]" >&2; exit 2 ;;
esac
need_packages g++ git doxygen
want_packages ccache
make_venv
python -c "import executorch.extension.pybindings.portable_lib, executorch.exir" 2>/dev/null || install export,examples
step "the site's tools"
python - "$root/pyproject.toml" >"$venv/docs-requirements.txt" <<'PYTHON'
import sys
try:
    import tomllib
except ModuleNotFoundError:  # Python 3.10
    from pip._vendor import tomli as tomllib
with open(sys.argv[1], "rb") as file:
    extras = tomllib.load(file)["project"]["optional-dependencies"]
print("\n".join(extras["examples"] + extras["docs"]))
PYTHON
python -m pip install -q -r "$venv/docs-requirements.txt"
cd "$root/docs"
mkdir -p _build
step "C++ headers"
doxygen Doxyfile
step "pages"
python -m sphinx -W --keep-going -q -b html . _build/html
step "open docs/_build/html/index.html"
