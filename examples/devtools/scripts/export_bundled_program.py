# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Export an example model with test cases: ``python -m examples.devtools.scripts.export_bundled_program``."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch

from executorch.devtools import BundledProgram
from executorch.devtools.bundled_program.config import MethodTestCase, MethodTestSuite
from executorch.devtools.bundled_program.serialize import serialize_from_bundled_program_to_flatbuffer
from executorch.examples.models.chosen_model import chosen_model, model_parser
from executorch.exir import ExecutorchProgramManager
from executorch.extension.export_util.utils import export_to_exec_prog


def save_bundled_program(
    executorch_program: ExecutorchProgramManager, method_test_suites: Sequence[MethodTestSuite], output_path: str
) -> None:
    """Write a program and its test cases to a `.bpte` file."""
    bundled = BundledProgram(executorch_program, method_test_suites)
    Path(output_path).write_bytes(serialize_from_bundled_program_to_flatbuffer(bundled))


def export_to_bundled_program(
    model_name: str,
    output_directory: str,
    model: torch.nn.Module,
    example_inputs: tuple[Any, ...],
    example_kwarg_inputs: dict[str, Any] | None = None,
    dynamic_shapes: dict[str, Any] | tuple[Any, ...] | None = None,
) -> str:
    """Write `model_name`_bundled.bpte with one test case, the inputs and the model's outputs; return its path."""
    keywords = example_kwarg_inputs or {}
    program = export_to_exec_prog(model, example_inputs, example_kwarg_inputs=keywords, dynamic_shapes=dynamic_shapes)
    case = MethodTestCase((*example_inputs, *keywords.values()), model(*example_inputs, **keywords))
    path = str(Path(output_directory) / f"{model_name}_bundled.bpte")
    save_bundled_program(program, [MethodTestSuite("forward", [case])], path)
    return path


def main(arguments: Sequence[str] | None = None) -> None:
    """Write the bundled program of an example model and print its path."""
    command = "examples.devtools.scripts.export_bundled_program"
    parser = model_parser(command, __doc__, output=("-d", "--dir"))
    options = parser.parse_args(arguments)
    model = chosen_model(parser, options.model_name)
    with torch.no_grad():
        path = export_to_bundled_program(
            options.model_name, options.dir, model.module, model.inputs, model.keywords, model.shapes
        )
    print(f"wrote {path}")


if __name__ == "__main__":
    main()
