# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Quantize an example model without a delegate: ``python -m executorch.examples.xnnpack.quantization.example``."""

from __future__ import annotations

import argparse
import logging
from collections.abc import Sequence

import torch

from executorch.examples.models import available_models
from executorch.examples.models.chosen_model import chosen_model, model_parser
from executorch.examples.xnnpack import MODEL_NAME_TO_OPTIONS
from executorch.examples.xnnpack.quantization.utils import check_is_quantizable, quantize_example
from executorch.extension.export_util.utils import export_to_exec_prog, save_pte_program


def _parser() -> argparse.ArgumentParser:
    names = [name for name in available_models() if name in MODEL_NAME_TO_OPTIONS]
    parser = model_parser("executorch.examples.xnnpack.quantization.example", __doc__, names)
    parser.add_argument(
        "-s", "--so_library", help="library with out variants of quantized operators; this package has its own"
    )
    return parser


def main(arguments: Sequence[str] | None = None) -> None:
    """Write MODEL_NAME_quantized.pte into the output folder and print its path.

    Exits with code 2 for an unknown model, and for one in which nothing can be quantized.
    """
    logging.basicConfig(level=logging.INFO, format="[%(levelname)s %(filename)s:%(lineno)s] %(message)s")
    parser = _parser()
    options = parser.parse_args(arguments)
    name = options.model_name
    if options.so_library:
        torch.ops.load_library(options.so_library)
    model = chosen_model(parser, name, check_is_quantizable)
    with torch.no_grad():
        exported = torch.export.export(model.module, model.inputs, model.keywords, dynamic_shapes=model.shapes)
        graph = quantize_example(parser, name, exported, model.inputs)
        program = export_to_exec_prog(
            graph,
            model.inputs,
            example_kwarg_inputs=model.keywords,
            dynamic_shapes=model.shapes,
            strict=False,
        )
    print(f"wrote {save_pte_program(program, f'{name}_quantized', options.output_dir)}")


if __name__ == "__main__":
    main()
