# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Façade: the documented exports in one call, over `executorch.exir`."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import torch

from executorch.exir import (
    EdgeCompileConfig,
    EdgeProgramManager,
    ExecutorchBackendConfig,
    ExecutorchProgramManager,
    to_edge,
)


def export_to_edge(
    model: torch.nn.Module,
    example_inputs: tuple[Any, ...],
    *,
    example_kwarg_inputs: dict[str, Any] | None = None,
    dynamic_shapes: dict[str, Any] | tuple[Any, ...] | None = None,
    edge_constant_methods: dict[str, Any] | None = None,
    edge_compile_config: EdgeCompileConfig | None = None,
    strict: bool = True,
    verbose: bool = True,
) -> EdgeProgramManager:
    """`torch.export.export`, then `to_edge`. verbose: logs both graphs.

    edge_compile_config: None keeps memory formats instead of dim orders, as documented for this function.
    """
    exported = torch.export.export(
        model, example_inputs, example_kwarg_inputs, dynamic_shapes=dynamic_shapes, strict=strict
    )
    if verbose:
        logging.info("exported graph:\n%s", exported.graph)
    config = edge_compile_config or EdgeCompileConfig(_skip_dim_order=True)
    edge = to_edge(exported, constant_methods=edge_constant_methods, compile_config=config)
    if verbose:
        logging.info("edge graph:\n%s", edge.exported_program().graph)
    return edge


def export_to_exec_prog(
    model: torch.nn.Module,
    example_inputs: tuple[Any, ...],
    *,
    example_kwarg_inputs: dict[str, Any] | None = None,
    dynamic_shapes: dict[str, Any] | tuple[Any, ...] | None = None,
    edge_constant_methods: dict[str, Any] | None = None,
    edge_compile_config: EdgeCompileConfig | None = None,
    backend_config: ExecutorchBackendConfig | None = None,
    strict: bool = True,
) -> ExecutorchProgramManager:
    """`export_to_edge`, then `to_executorch`. The model keeps its mode (train or eval)."""
    edge = export_to_edge(
        model,
        example_inputs,
        example_kwarg_inputs=example_kwarg_inputs,
        dynamic_shapes=dynamic_shapes,
        edge_constant_methods=edge_constant_methods,
        edge_compile_config=edge_compile_config,
        strict=strict,
    )
    return edge.to_executorch(backend_config)


def save_pte_program(prog: ExecutorchProgramManager, model_name: str, output_dir: str = "") -> str:
    """Write the program to `model_name` (with ".pte" added if missing) in `output_dir`, and its weights' files
    beside it. Return the path of the program.

    Raises OSError if a file cannot be written.
    """
    name = model_name if model_name.endswith(".pte") else f"{model_name}.pte"
    path = Path(output_dir) / name
    with open(path, "wb") as file:
        prog.write_to_file(file)
    prog.write_tensor_data_to_file(output_dir or ".")
    return str(path)
