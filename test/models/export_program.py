# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Export small modules that C++ tests load: ``python -m executorch.test.models.export_program``."""

from __future__ import annotations

import argparse
import copy
import difflib
from collections.abc import Sequence
from pathlib import Path

import torch
from torch import nn
from torch.export.experimental import _export_forward_backward

from executorch.exir import ExecutorchBackendConfig, ExecutorchProgramManager, to_edge
from executorch.exir.passes import MemoryPlanningPass

from .documented_modules import RECIPES, Recipe


def _method(module: nn.Module, name: str) -> nn.Module:
    """The module with another method as its `forward`; it shares all buffers and parameters."""
    twin = copy.copy(module)
    twin.__class__ = type(type(module).__name__, (type(module),), {"forward": getattr(type(module), name)})
    return twin


def _export(module: nn.Module, name: str, recipe: Recipe) -> torch.export.ExportedProgram:
    inputs = recipe.inputs[name]
    exported = torch.export.export(_method(module, name), inputs, dynamic_shapes=recipe.dynamic_shapes, strict=True)
    return _export_forward_backward(exported) if recipe.with_gradients else exported


def export_module_to_program(
    module_class: type[nn.Module], external_constants: bool = False, data_name: str = "_default_external_constant"
) -> ExecutorchProgramManager:
    """Return the program of a module, with the same weights each time.

    external_constants: keep the weights for a file of their own, called `data_name`.ptd.
    """
    recipe = RECIPES[module_class]
    torch.manual_seed(0)
    module = module_class().eval()
    methods = {name: _export(module, name, recipe) for name in recipe.inputs}
    config = ExecutorchBackendConfig(
        external_constants=(lambda _: data_name) if external_constants else False,
        emit_mutable_buffer_names=recipe.names_mutable_buffers,
        memory_planning_pass=MemoryPlanningPass(
            alloc_graph_input=recipe.plans_inputs_and_outputs,
            alloc_graph_output=recipe.plans_inputs_and_outputs,
            alloc_mutable_buffers=not recipe.names_mutable_buffers,
            share_mutable_buffers=recipe.shares_mutable_buffers,
        ),
    )
    return to_edge(methods).to_executorch(config)


def _class_of(parser: argparse.ArgumentParser, name: str) -> type[nn.Module]:
    classes = {kind.__name__: kind for kind in RECIPES}
    if name not in classes:
        near = difflib.get_close_matches(name, classes, n=3, cutoff=0.5)
        hint = f"did you mean {' or '.join(near)}? " if near else ""
        parser.error(f"no module is named '{name}': {hint}available: {', '.join(classes)}")
    return classes[name]


def main(arguments: Sequence[str] | None = None) -> None:
    """Write a program for each module into the folder, and print its path."""
    parser = argparse.ArgumentParser(prog="executorch.test.models.export_program", description=__doc__)
    parser.add_argument(
        "--modules", required=True, help="names of modules with commas in between: ModuleAdd,ModuleIndex"
    )
    parser.add_argument("--outdir", required=True, type=Path, help="folder of the programs; it is made if missing")
    parser.add_argument(
        "--external-constants",
        action="store_true",
        help="write MODULEProgram.pte without weights, and the weights to MODULEProgram.ptd",
    )
    options = parser.parse_args(arguments)
    classes = [_class_of(parser, name.strip()) for name in options.modules.split(",")]
    options.outdir.mkdir(parents=True, exist_ok=True)
    for kind in classes:
        name = f"{kind.__name__}Program" if options.external_constants else kind.__name__
        program = export_module_to_program(kind, options.external_constants, name)
        path = options.outdir / f"{name}.pte"
        with path.open("wb") as file:
            program.write_to_file(file)
        program.write_tensor_data_to_file(str(options.outdir))
        print(f"wrote {path}")


if __name__ == "__main__":
    main()
