# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Export an example model for the portable kernels: ``python -m executorch.examples.portable.scripts.export``."""

from __future__ import annotations

import argparse
import logging
from collections.abc import Sequence

import torch

from executorch.examples.models.chosen_model import chosen_model, model_parser
from executorch.examples.portable.utils import export_to_exec_prog, save_pte_program
from executorch.exir import ExecutorchBackendConfig


def _parser() -> argparse.ArgumentParser:
    parser = model_parser("executorch.examples.portable.scripts.export", __doc__)
    parser.add_argument(
        "-s", "--strict", action=argparse.BooleanOptionalAction, default=True, help="torch.export's strict mode"
    )
    parser.add_argument(
        "-a", "--segment_alignment", type=lambda text: int(text, 16), help="alignment of segments in bytes, hexadecimal"
    )
    parser.add_argument(
        "-e",
        "--external_constants",
        action=argparse.BooleanOptionalAction,
        default=False,
        help="write the weights to a file beside the program (.ptd)",
    )
    return parser


def main(arguments: Sequence[str] | None = None) -> None:
    """Write MODEL_NAME.pte into the output folder and print its path."""
    logging.basicConfig(level=logging.INFO, format="[%(levelname)s %(filename)s:%(lineno)s] %(message)s")
    parser = _parser()
    options = parser.parse_args(arguments)
    model = chosen_model(parser, options.model_name)
    config = ExecutorchBackendConfig(external_constants=options.external_constants)
    if options.segment_alignment is not None:
        config.segment_alignment = options.segment_alignment
    with torch.no_grad():
        program = export_to_exec_prog(
            model.module,
            model.inputs,
            example_kwarg_inputs=model.keywords,
            dynamic_shapes=model.shapes,
            backend_config=config,
            strict=options.strict,
        )
    print(f"wrote {save_pte_program(program, options.model_name, options.output_dir)}")


if __name__ == "__main__":
    main()
