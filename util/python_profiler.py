# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""A self-contained HTML page of the time that Python code takes."""

from __future__ import annotations

import cProfile
import html
import pstats
from pathlib import Path
from types import TracebackType
from typing import Any

_PAGE = """<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title>{title}</title><style>
body {{ font: 14px sans-serif; margin: 2em }} table {{ border-collapse: collapse }}
td, th {{ padding: 2px 10px; text-align: right; border-bottom: 1px solid #ddd }}
td.name {{ text-align: left; font-family: monospace; padding-left: calc(10px + var(--depth) * 14px) }}
td.bar {{ width: 300px; padding: 0 }} td.bar div {{ height: 12px; background: #e8743b }}
</style></head><body><h1>{title}</h1><p>{total:.6f} s in {calls} calls</p>
<h2>Calls</h2><table><tr><th>function<th>seconds<th>share<th></tr>{tree}</table>
<h2>Functions</h2><table><tr><th>function<th>calls<th>own s<th>with callees s</tr>{rows}</table></body></html>
"""
# Deeper or smaller calls are omitted from the drawing; the table of functions lists all.
_MAX_DEPTH = 40
_MIN_SHARE = 0.002

_Function = tuple[str, int, str]


class CProfilerFlameGraph:
    """Profiles the body of a `with` statement by `cProfile` and writes a page.

    filename: of the page; ValueError if it is empty. A body that raises is reported too, and its exception propagates.
    """

    def __init__(self, filename: str) -> None:
        if not isinstance(filename, str) or not filename:
            raise ValueError(f"filename: expected the name of a file, found {filename!r}")
        self.filename = filename
        self._profile = cProfile.Profile()

    def __enter__(self) -> CProfilerFlameGraph:
        self._profile.enable()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._profile.disable()
        Path(self.filename).write_text(_page(pstats.Stats(self._profile), Path(self.filename).stem), encoding="utf-8")


def _page(stats: pstats.Stats, title: str) -> str:
    profile: Any = stats
    functions: dict[_Function, Any] = profile.stats
    tree = _Tree(functions, max(float(profile.total_tt), 1e-9))
    for function, (_, _, _, seconds, callers) in _by_time(functions):
        if not callers:
            tree.add(function, seconds, 0, frozenset())
    rows = [
        f'<tr><td class="name">{_name(function)}<td>{calls}<td>{own:.6f}<td>{seconds:.6f}</tr>'
        for function, (_, calls, own, seconds, _) in _by_time(functions)
    ]
    return _PAGE.format(
        title=html.escape(title),
        total=profile.total_tt,
        calls=profile.total_calls,
        tree="".join(tree.rows),
        rows="".join(rows),
    )


def _by_time(functions: dict[_Function, Any]) -> list[tuple[_Function, Any]]:
    return sorted(functions.items(), key=lambda item: -item[1][3])


class _Tree:
    """Rows of calls, each above those that it makes. cProfile counts by pairs of functions, so the time of a callee is
    divided among the calls of its caller in proportion to their time."""

    def __init__(self, functions: dict[_Function, Any], total: float) -> None:
        self.rows: list[str] = []
        self._total = total
        self._seconds = {function: max(float(entry[3]), 1e-12) for function, entry in functions.items()}
        self._callees: dict[_Function, list[tuple[_Function, float]]] = {}
        for function, (*_, callers) in functions.items():
            for caller, (*_, seconds) in callers.items():
                self._callees.setdefault(caller, []).append((function, seconds))

    def add(self, function: _Function, seconds: float, depth: int, above: frozenset[_Function]) -> None:
        """Add the row of a call, and the rows below it."""
        share = seconds / self._total
        if share < _MIN_SHARE or depth > _MAX_DEPTH or function in above:
            return
        self.rows.append(
            f'<tr><td class="name" style="--depth: {depth}">{_name(function)}<td>{seconds:.6f}<td>{share:.1%}'
            f'<td class="bar"><div style="width: {min(share, 1):.1%}"></div></tr>'
        )
        part = seconds / self._seconds[function]
        for callee, taken in sorted(self._callees.get(function, []), key=lambda item: -item[1]):
            self.add(callee, min(taken * part, seconds), depth + 1, above | {function})


def _name(function: _Function) -> str:
    file, line, name = function
    place = f" ({'/'.join(Path(file).parts[-2:])}:{line})" if line else ""
    return html.escape(name + place)
