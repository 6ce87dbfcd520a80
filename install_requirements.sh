#!/usr/bin/env bash
# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
# Installs the requirements of this source tree and its build, for `pip install --no-build-isolation -e .`
set -euo pipefail
exec "$(dirname "${BASH_SOURCE[0]}")/install_executorch.sh" --only-dependencies "$@"
