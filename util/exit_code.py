# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Exit codes and error messages of the commands `python -m executorch…`."""

from __future__ import annotations

import sys
from collections.abc import Callable


def exit_code(
    command: str,
    run: Callable[[], int | None],
    errors: tuple[type[Exception], ...] = (OSError, ValueError),
    message: Callable[[Exception], str] = str,
) -> int:
    """Run a command and return its exit code.

    Args:
        command: The command's name, which begins the message of an error.
        run: Returns an exit code, or None for 0.
        errors: Types that stand for invalid input or an unusable file. The code is 1 after `message(error)` on stderr.
            An interruption gives 130. Any other exception is a defect of the command and passes.
        message: Called while the error is handled.
    """
    try:
        return run() or 0
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return 130
    except errors as error:
        print(f"{command}: {message(error)}", file=sys.stderr)
        return 1
