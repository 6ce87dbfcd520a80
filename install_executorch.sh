#!/usr/bin/env bash
# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
# Installs this source tree into the active Python environment: ./install_executorch.sh --help
set -euo pipefail
python=${PYTHON_EXECUTABLE:-$(command -v python || command -v python3)}
exec "$python" "$(dirname "${BASH_SOURCE[0]}")/install_executorch.py" "$@"
