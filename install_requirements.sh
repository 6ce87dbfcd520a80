#!/usr/bin/env bash
# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
# Installs what this source tree needs, for `pip install --no-build-isolation -e .`
set -euo pipefail
exec "$(dirname "${BASH_SOURCE[0]}")/install_executorch.sh" --only-dependencies "$@"
