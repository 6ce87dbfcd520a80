# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Show the current step: a progress line on a terminal, nothing in a pipe."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext

__all__ = ["Steps"]


class Steps:
    """Runs named steps, shows the current one, and records the time of each (`seconds`, in order)."""

    def __init__(self, count: int, quiet: bool = False) -> None:
        self.seconds: dict[str, float] = {}
        self._count = count
        self._quiet = quiet or not sys.stderr.isatty()

    @contextmanager
    def step(self, name: str) -> Iterator[None]:
        """Show the name of a step while its block runs, and record its duration in seconds."""
        start = time.perf_counter()
        with self._display(f"[{len(self.seconds) + 1}/{self._count}] {name} …"):
            yield
        self.seconds[name] = time.perf_counter() - start

    def _display(self, text: str) -> AbstractContextManager[object]:
        if self._quiet:
            return nullcontext()
        from rich.console import Console
        from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

        columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
        progress = Progress(*columns, console=Console(file=sys.stderr), transient=True)
        progress.add_task(text, total=None)
        return progress
