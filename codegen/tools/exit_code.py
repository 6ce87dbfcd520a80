# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""How the commands of code generation end."""

from __future__ import annotations

import sys
from collections.abc import Callable

from executorch.codegen.located_yaml import CodegenError


def exit_code(command: str, run: Callable[[], object]) -> int:
    """Run a command; return 0, or 1 after a message with its name if the input is invalid or a file not usable."""
    try:
        run()
    except (CodegenError, OSError) as error:
        print(f"{command}: {error}", file=sys.stderr)
        return 1
    return 0
