# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""The text form of a lowering report: tables of fixed-width text for terminals and files."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import TYPE_CHECKING

from tabulate import tabulate

if TYPE_CHECKING:
    from executorch.exir.report.lowering_report import DelegateReport, Fallback, LoweringReport, MethodReport
    from executorch.exir.report.temp_peak import TempPeak

__all__ = ["fallback_table", "render", "temp_text", "unbounded_text"]


def render(report: LoweringReport) -> str:
    """Return the report as text: the program, then each method."""
    checked = "checked against the target" if report.target_checked else "NOT checked against a target"
    head = f"{checked}; {report.constant_bytes:,} bytes of constants"
    if report.named_data_bytes:
        head += f", {report.named_data_bytes:,} bytes of delegates' named data"
    head += "".join(f"; {name}.ptd: {size:,} bytes" for name, size in report.data_file_bytes.items())
    constants = [
        f"constant method {name}: method allocator: " + ("unknown" if size is None else f"{size:,} bytes")
        for name, size in report.constant_methods.items()
    ]
    return "\n\n".join([head, *(_method(method) for method in report.methods), *constants])


def _method(method: MethodReport) -> str:
    arenas = ", ".join(f"arena {number}: {size:,} bytes" for number, size in method.arenas.items()) or "no arena"
    loading = method.method_allocator_bytes
    allocator = f"unknown ({method.note})" if loading is None else f"{loading:,} bytes"
    memory = f"{arenas}; method allocator: {allocator}; temp peak: {temp_text(method.temp_peak)}"
    blocks = [f"method {method.name}: {memory}; kernels: {method.flops:,} FLOPs, {method.bytes:,} bytes moved"]
    blocks.append(unbounded_text(method.unbounded))
    blocks.append("kernels to link: " + ", ".join(method.to_link) if method.to_link else "")
    blocks.append(_table(("kernel", "calls"), method.kernels.items()))
    blocks.append(
        _table(
            ("delegate", "operators", "FLOPs", "bytes", "payload", "dry-built"),
            (
                (d.backend, d.operators, f"{d.flops:,}", f"{d.bytes:,}", f"{d.payload_bytes:,}", _built(d.dry_built))
                for d in method.delegates
            ),
        )
    )
    blocks.append(_table(("operator of a delegate", "precision: calls"), _precisions(method.delegates)))
    blocks.append(fallback_table(method.fallbacks))
    return "\n\n".join(block for block in blocks if block)


def _precisions(delegates: Iterable[DelegateReport]) -> list[tuple[str, str]]:
    """Return the operators of all delegates, with the number of calls in each precision."""
    calls_of: dict[str, Counter[str]] = {}
    for delegate in delegates:
        for operator, calls in delegate.precisions.items():
            calls_of.setdefault(operator, Counter()).update(calls)
    texts = {
        name: ", ".join(f"{precision or 'none'}: {count}" for precision, count in calls.items())
        for name, calls in calls_of.items()
    }
    return sorted(texts.items())


def temp_text(peak: TempPeak) -> str:
    """Return `1,024 bytes` with the conditions of the measurement, or why there is none."""
    if peak.bytes is None:
        return f"not measured ({peak.note})"
    return f"{peak.bytes:,} bytes" + (f" ({peak.note})" if peak.note else "")


def unbounded_text(unbounded: Iterable[str]) -> str:
    """Return a line that lists the tensors of the client's dynamic allocator, or "" for none."""
    listed = ", ".join(unbounded)
    return f"unbounded, from the client's dynamic allocator: {listed}" if listed else ""


def fallback_table(fallbacks: Iterable[Fallback]) -> str:
    """Return the table of fallbacks, or "" for none."""
    return _table(
        ("fallback", "FLOPs", "bytes", "reason", "source"),
        (
            (
                fallback.operator,
                f"{fallback.flops:,}",
                f"{fallback.bytes:,}",
                "; ".join(f"{partitioner}: {reason}" for partitioner, reason in fallback.reasons.items()),
                fallback.source or fallback.module or fallback.node,
            )
            for fallback in fallbacks
        ),
    )


def _built(dry_built: bool | None) -> str:
    return {True: "yes", False: "no", None: "backend not here"}[dry_built]


def _table(headers: tuple[str, ...], rows: Iterable[tuple[object, ...]]) -> str:
    listed = list(rows)
    return str(tabulate(listed, headers=headers, tablefmt="simple", disable_numparse=True)) if listed else ""
