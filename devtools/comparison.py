# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""compare(): a model beside a program made of it, operator by operator, in one call."""

from __future__ import annotations

import json
import math
import os
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch
from tabulate import tabulate
from torch.export import ExportedProgram
from torch.utils._pytree import tree_leaves

from executorch.devtools.etdump.trace import read_trace
from executorch.devtools.etrecord.record import ETRecord
from executorch.devtools.inspector.attribution import attribute
from executorch.devtools.inspector.compare_results import (
    as_float,
    cosine_similarity,
    mean_squared_error,
    signal_to_noise,
)
from executorch.devtools.inspector.debug_values import inflate
from executorch.devtools.inspector.event_block import BlockSettings, EventBlock, blocks_of
from executorch.devtools.inspector.numeric_gap import Pair, pairs_of
from executorch.devtools.inspector.time_scale import TimeScale
from executorch.exir import ExecutorchProgramManager, to_edge
from executorch.exir.error import module_path, source_line
from executorch.exir.schema import ExecutionPlan
from executorch.exir.serialize import deserialize_pte
from executorch.runtime import Runtime

Lower = Callable[[ExportedProgram], ExecutorchProgramManager]


@dataclass(frozen=True)
class OperatorGap:
    """An operator's value in the model and in the program.

    `ran`: the kernel or delegate that computed it. `sqnr` in decibel; `largest`: the largest absolute difference,
    infinite where one of the two is no number and the other is. `differs`: it is beyond the tolerance.
    """

    operator: str
    node: str
    module: str
    source: str
    ran: str
    instruction: int
    mse: float
    sqnr: float
    cosine: float
    largest: float
    differs: bool


@dataclass(frozen=True)
class Comparison:
    """Operators in the order in which the model runs them; `outputs_differ`: what the program returned does."""

    operators: list[OperatorGap]
    outputs_differ: bool

    @property
    def first(self) -> OperatorGap | None:
        """The first operator that differs; None if none does."""
        return next((each for each in self.operators if each.differs), None)

    def as_json(self) -> str:
        """The operators, and which of them is the first that differs."""
        first = self.first
        told = {"first": first and first.node, "outputs_differ": self.outputs_differ}
        return json.dumps(told | {"operators": [asdict(each) for each in self.operators]}, indent=1)

    def __str__(self) -> str:
        rows = [
            (
                "▶" if each is self.first else "",
                *(each.operator, each.module, each.ran),
                *(f"{each.largest:.3g}", f"{each.mse:.3g}", f"{each.sqnr:.1f}", f"{each.cosine:.6f}"),
            )
            for each in self.operators
        ]
        headers = ("", "operator", "module", "ran as", "max abs", "MSE", "SQNR dB", "cosine")
        first = self.first
        if first is None:
            verdict = (
                "outputs differ, but no operator that was recorded" if self.outputs_differ else "no operator differs"
            )
        else:
            verdict = f"first to differ: {first.operator} ({first.node}) of module '{first.module}', {first.source}"
        return f"{tabulate(rows, headers=headers)}\n\n{verdict}"


def compare(
    model: torch.nn.Module | ExportedProgram,
    program: ExecutorchProgramManager | bytes | str | os.PathLike[str],
    inputs: Sequence[Any],
    *,
    method: str = "forward",
    lower: Lower | None = None,
    rtol: float = 1e-3,
    atol: float = 1e-5,
) -> Comparison:
    """Runs the model, exported, and the program on `inputs`, and says where their values part.

    Args:
        model: the module, or what torch.export.export made of it.
        program: what `to_executorch` returned, or the bytes or path of a `.pte` file.
        inputs: the positional arguments.
        method: of the program, that the model is.
        lower: how the program was made, for a file that was not made by `to_edge(…).to_executorch()`: what becomes of
            the model by it says which instruction runs which operator.
        rtol, atol: an operator differs if an element does by more than `atol` and `rtol` times the largest magnitude
            of the model's value.

    Raises: ValueError if a file's instructions are not those that `lower` gives; errors of the runtime.
    """
    exported = model if isinstance(model, ExportedProgram) else torch.export.export(model, tuple(inputs))
    made = program if isinstance(program, ExecutorchProgramManager) else (lower or _plainly)(exported)
    data = program.buffer if isinstance(program, ExecutorchProgramManager) else _bytes(program)
    if not isinstance(program, ExecutorchProgramManager):
        _check_alike(made, data, method)
    edge = to_edge(exported).exported_program()
    leaves = tree_leaves(tuple(inputs))
    block, returned = _run(data, method, leaves, _debug_bytes(edge))
    record = ETRecord(
        _debug_handle_map={"forward": made.debug_handle_map.get(method, {})},
        _delegate_map={"forward": made.delegate_map.get(method, {})},
        _instruction_id_to_num_outs_map={"forward": made.instruction_id_to_num_outs_map.get(method, {})},
    )
    attribute([block], record, "forward", edge)
    pairs = [pair for pair in pairs_of(edge, inputs, block.events) if _comparable(pair)]
    with torch.no_grad():
        expected = [each for each in tree_leaves(exported.module()(*inputs)) if isinstance(each, torch.Tensor)]
    found = [each for each in returned if isinstance(each, torch.Tensor)]
    differ = any(_differs(a, b, rtol, atol) for a, b in zip(expected, found, strict=False))
    return Comparison([_gap(pair, rtol, atol) for pair in pairs], differ)


def _plainly(exported: ExportedProgram) -> ExecutorchProgramManager:
    return to_edge(exported).to_executorch()


def _bytes(program: bytes | str | os.PathLike[str]) -> bytes:
    return program if isinstance(program, bytes) else Path(program).read_bytes()


def _check_alike(made: ExecutorchProgramManager, data: bytes, method: str) -> None:
    wanted = _kinds(made.executorch_program.execution_plan, "forward" if method not in made.methods else method)
    found = _kinds(deserialize_pte(data).program.execution_plan, method)
    if wanted != found:
        raise ValueError(
            f"the program's method '{method}' was made in another way: {len(found)} instructions, expected "
            f"{len(wanted)} of the same kinds; say how it was made by lower=…"
        )


def _kinds(plans: Sequence[ExecutionPlan], method: str) -> list[str]:
    plan = next((plan for plan in plans if plan.name == method), None)
    if plan is None:
        raise ValueError(f"the program has no method '{method}'; it has {[plan.name for plan in plans]}")
    return [type(each.instr_args).__name__ for each in plan.chains[0].instructions]


def _debug_bytes(edge: ExportedProgram) -> int:
    """Room for every value, those of delegates' arguments as well, each at a multiple of 64 bytes."""
    total = 1 << 20
    for node in edge.graph.nodes:
        for value in tree_leaves(node.meta.get("val")):
            if isinstance(value, torch.Tensor):
                total += 3 * (int(value.numel()) * value.dtype.itemsize + 64)
    return total


def _run(data: bytes, method: str, leaves: list[Any], debug_bytes: int) -> tuple[EventBlock, list[Any]]:
    loaded = Runtime.get().load_program(data, enable_etdump=True, debug_buffer_size=debug_bytes)
    ready = loaded.load_method(method)
    if ready is None:
        raise ValueError(f"the program has no method '{method}'")
    returned = list(ready.execute(leaves))
    with tempfile.TemporaryDirectory() as folder:
        trace, debug = Path(folder) / "trace.etdp", Path(folder) / "debug.bin"
        loaded.write_etdump_result_to_file(str(trace), str(debug))
        events, values = read_trace(trace.read_bytes()), debug.read_bytes()
    settings = BlockSettings(TimeScale.NS, TimeScale.MS, lambda value: inflate(value, values))
    return blocks_of(events, settings)[-1], returned


def _comparable(pair: Pair) -> bool:
    return (
        isinstance(pair.expected, torch.Tensor)
        and isinstance(pair.found, torch.Tensor)
        and pair.expected.shape == pair.found.shape
    )


def _differs(expected: torch.Tensor, found: torch.Tensor, rtol: float, atol: float) -> bool:
    a = as_float(expected)
    return _largest(expected, found) > atol + rtol * float(a.abs().max() if a.numel() else 0)


def _largest(expected: torch.Tensor, found: torch.Tensor) -> float:
    if not expected.numel():
        return 0.0
    a, b = expected.detach().to(torch.float64), found.detach().to(torch.float64)
    if bool((a.isfinite() != b.isfinite()).any()):
        return math.inf
    return float((as_float(a) - as_float(b)).abs().max())


def _gap(pair: Pair, rtol: float, atol: float) -> OperatorGap:
    a, b = as_float(pair.expected), as_float(pair.found)
    return OperatorGap(
        operator=str(pair.node.target),
        node=pair.node.name,
        module=module_path(pair.node).split(" (")[0],
        source=source_line(pair.node),
        ran=pair.event.delegate_backend_name or pair.event.name.removeprefix("native_call_"),
        instruction=pair.event._instruction_id or 0,
        mse=mean_squared_error(a, b),
        sqnr=signal_to_noise(a, b),
        cosine=cosine_similarity(a, b),
        largest=_largest(pair.expected, pair.found),
        differs=_differs(pair.expected, pair.found, rtol, atol),
    )
