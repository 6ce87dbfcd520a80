# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Format a program's summary as text tables, equal on a terminal and in a file."""

from __future__ import annotations

from collections.abc import Iterable

from tabulate import tabulate

from executorch.exir.report.report_table import fallback_table, temp_text, unbounded_text
from executorch.export.program_summary import Arena, MethodSummary, ProgramSummary

__all__ = ["human_bytes", "render"]


def render(summary: ProgramSummary) -> str:
    """Format the file, each method, and the time of each step."""
    parts = [
        f"{summary.path}: {human_bytes(summary.file_bytes)} "
        f"({human_bytes(summary.constant_bytes)} in {summary.constants} constants, "
        f"{human_bytes(summary.delegate_bytes)} in delegates)"
    ]
    parts += [_method(method) for method in summary.methods]
    times = ", ".join(f"{step} {seconds:.2f} s" for step, seconds in summary.seconds.items())
    parts.append(f"time: {times}; {sum(summary.seconds.values()):.2f} s in all")
    return "\n\n".join(parts)


def human_bytes(count: int) -> str:
    """`312 B`, `4.0 KiB`, `87.3 MiB` …"""
    if count < 1024:
        return f"{count} B"
    size, unit = count / 1024, "KiB"
    for larger in ("MiB", "GiB"):
        if size >= 1024:
            size, unit = size / 1024, larger
    return f"{size:.1f} {unit}"


def _bound(arena: Arena) -> str:
    bound = arena.lower_bound_bytes
    if arena.optimal:
        return f"{human_bytes(bound)} (optimal)"
    return f"{human_bytes(bound)} ({arena.planned_bytes / bound - 1:.1%} above)" if bound else "unknown"


def _method(method: MethodSummary) -> str:
    blocks = [
        f"method {method.name}({', '.join(method.inputs)}) -> ({', '.join(method.outputs)}), "
        f"{method.instructions} instructions"
    ]
    blocks.append(_table(("operator", "calls"), method.operators.items()))
    blocks.append(
        _table(
            ("delegate", "calls", "payload"),
            ((d.backend, d.calls, human_bytes(d.payload_bytes)) for d in method.delegates),
        )
    )
    blocks.append(fallback_table(method.fallbacks))
    memory = [(f"arena {arena.memory_id}", human_bytes(arena.planned_bytes), _bound(arena)) for arena in method.arenas]
    if method.method_allocator_bytes is None:
        memory.append(("method allocator", f"unknown: {method.note}", ""))
    else:
        memory.append(("method allocator", human_bytes(method.method_allocator_bytes), ""))
    if method.temp_peak is not None:
        memory.append(("temp peak", temp_text(method.temp_peak), ""))
    blocks.append(_table(("memory", "needed", "lower bound"), memory))
    blocks.append(unbounded_text(method.unbounded))
    blocks.append(
        _table(
            ("largest tensors", "kind", "type", "size"),
            ((t.name, t.kind, f"{t.dtype}{list(t.sizes)}", human_bytes(t.bytes)) for t in method.largest),
        )
    )
    return "\n\n".join(block for block in blocks if block)


def _table(headers: tuple[str, ...], rows: Iterable[tuple[object, ...]]) -> str:
    listed = list(rows)
    return tabulate(listed, headers=headers, tablefmt="simple", disable_numparse=True) if listed else ""
