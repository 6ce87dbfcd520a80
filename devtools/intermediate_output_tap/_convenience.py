# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Compare tapped values of a model and of its program in a table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pandas as pd  # type: ignore[import-untyped]
import torch
from torch.utils import _pytree as pytree

from executorch.devtools.intermediate_output_tap._reducers import FULL_TENSOR
from executorch.devtools.intermediate_output_tap._spec import TapSpec
from executorch.devtools.intermediate_output_tap._strip_pass import strip_taps_
from executorch.devtools.intermediate_output_tap._tap_pass import TapRule, tap_intermediate_outputs_
from executorch.exir import to_edge_transform_and_lower
from executorch.exir.backend.partitioner import Partitioner
from executorch.runtime import Runtime


def tap_compare(
    model: torch.nn.Module,
    example_inputs: tuple[Any, ...],
    partitioner: list[Partitioner] | None = None,
    *,
    rules: Sequence[TapRule] | TapRule | None = None,
    error_on_empty: bool = True,
) -> tuple[pd.DataFrame, list[TapSpec]]:
    """Export, tap, lower and run a model; return the table of `compare_aot_runtime_dataframe` and the taps.

    partitioner: None delegates nothing. rules, error_on_empty: as in `tap_intermediate_outputs_`.
    """
    program = torch.export.export(model, example_inputs)
    program, specs = tap_intermediate_outputs_(program, rules, error_on_empty=error_on_empty)
    expected = pytree.tree_leaves(program.module()(*example_inputs))
    edge = to_edge_transform_and_lower(program, partitioner=partitioner or [])
    strip_taps_(edge)
    method = Runtime.get().load_program(edge.to_executorch().buffer).load_method("forward")
    assert method is not None
    found = method.execute(pytree.tree_leaves(example_inputs))
    return compare_aot_runtime_dataframe(specs, expected, found), specs


def compare_aot_runtime_dataframe(
    specs: Sequence[TapSpec], aot_flat: Sequence[Any], rt_flat: Sequence[Any]
) -> pd.DataFrame:
    """Return a table with one row for each tap: the values of the tapped model and of the program side by side.

    aot_flat, rt_flat: all outputs of the tapped program in eager mode, and of the lowered one. Columns after those of
    the tap: `aot_…` and `rt_…` for each field of the reducer; for FULL_TENSOR `sqnr_db`, the signal-to-noise ratio in
    dB (NaN if the numbers of elements differ), and the numbers of elements.
    """
    return pd.DataFrame([_row(spec, aot_flat[spec.output_index], rt_flat[spec.output_index]) for spec in specs])


def _row(spec: TapSpec, expected: Any, found: Any) -> dict[str, Any]:
    names = ("node_name", "module_path", "module_class", "op_target", "reducer_name", "output_index")
    row = {name: getattr(spec, name) for name in names}
    a, b = _flat(expected), _flat(found)
    if spec.reducer_name == FULL_TENSOR.name:
        return {**row, "sqnr_db": _sqnr_db(a, b), "aot_numel": a.numel(), "rt_numel": b.numel()}
    fields = spec.fields or tuple(f"v{index}" for index in range(max(a.numel(), b.numel())))
    for index, field in enumerate(fields):
        for side, values in (("aot", a), ("rt", b)):
            row[f"{side}_{field}"] = float(values[index]) if index < values.numel() else float("nan")
    return row


def _flat(values: Any) -> torch.Tensor:
    if isinstance(values, (list, tuple)):
        return torch.cat([_flat(value) for value in values]) if values else torch.empty(0)
    return torch.as_tensor(values).detach().to(torch.float32).flatten()


def _sqnr_db(expected: torch.Tensor, found: torch.Tensor) -> float:
    if expected.numel() == 0 or expected.numel() != found.numel():
        return float("nan")
    noise = torch.linalg.vector_norm(expected - found)
    return float(20 * torch.log10(torch.linalg.vector_norm(expected) / noise))
