# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Write the ETRecord of an example model: ``python -m examples.devtools.scripts.gen_sample_etrecord``."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any

import torch

from executorch.devtools import generate_etrecord
from executorch.examples.models.chosen_model import chosen_model, model_parser
from executorch.exir import to_edge

DEFAULT_OUTPUT_PATH = "/tmp/etrecord.bin"


def gen_etrecord(
    model: torch.nn.Module, inputs: tuple[Any, ...], output_path: str | None = None, shapes: Any = None
) -> str:
    """Write a record that contains the exported, the edge and the portable program; return its path."""
    exported = torch.export.export(model, inputs, dynamic_shapes=shapes, strict=True)
    edge = to_edge(exported)
    path = output_path or DEFAULT_OUTPUT_PATH
    generate_etrecord(
        path,
        edge_dialect_program=edge,
        executorch_program=copy.deepcopy(edge).to_executorch(),
        extra_recorded_export_modules={"aten_dialect_output": exported},
    )
    return path


def main(arguments: Sequence[str] | None = None) -> None:
    """Write the record of an example model and print its path."""
    command = "examples.devtools.scripts.gen_sample_etrecord"
    parser = model_parser(command, __doc__, output=("-o", "--output_path"), default=DEFAULT_OUTPUT_PATH)
    options = parser.parse_args(arguments)
    model = chosen_model(parser, options.model_name)
    print(f"wrote {gen_etrecord(model.module, model.inputs, options.output_path, model.shapes)}")


if __name__ == "__main__":
    main()
