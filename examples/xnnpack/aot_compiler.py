# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Export an example model for XNNPACK: ``python -m executorch.examples.xnnpack.aot_compiler``."""

from __future__ import annotations

import argparse
import logging
from collections.abc import Sequence
from typing import Any

import torch

from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner
from executorch.examples.models.chosen_model import chosen_model, model_parser
from executorch.examples.xnnpack.quantization.utils import check_is_quantizable, quantize_example
from executorch.exir import EdgeCompileConfig, ExecutorchBackendConfig, to_edge_transform_and_lower
from executorch.extension.export_util.utils import save_pte_program


def _parser() -> argparse.ArgumentParser:
    parser = model_parser("executorch.examples.xnnpack.aot_compiler", __doc__)
    parser.add_argument("-q", "--quantize", action="store_true", help="quantize the model to 8 bits")
    parser.add_argument(
        "-d", "--delegate", action=argparse.BooleanOptionalAction, default=True, help="delegate to XNNPACK"
    )
    parser.add_argument("-r", "--etrecord", default="", help="path of an ETRecord to write")
    parser.add_argument("-t", "--test_after_export", action="store_true", help="run the program and log its error")
    return parser


def _log_error(buffer: bytes, model: torch.nn.Module, inputs: tuple[Any, ...]) -> None:
    """Run the program with the example inputs and log its largest difference from the model that was lowered."""
    from executorch.runtime import Runtime

    flat = torch.utils._pytree.tree_leaves(inputs)
    actual = Runtime.get().load_program(buffer).load_method("forward").execute(flat)
    expected = torch.utils._pytree.tree_leaves(model(*inputs))
    error = max(float((a - e).abs().max()) for a, e in zip(actual, expected, strict=True))
    logging.info("largest difference from the model that was lowered: %.1e", error)


def main(arguments: Sequence[str] | None = None) -> None:
    """Write MODEL_NAME_xnnpack_{fp32,q8}.pte into the output folder and print its path.

    Exits with code 2 for an unknown model, and for one in which nothing can be quantized.
    """
    logging.basicConfig(level=logging.INFO, format="[%(levelname)s %(filename)s:%(lineno)s] %(message)s")
    parser = _parser()
    options = parser.parse_args(arguments)
    name = options.model_name
    model = chosen_model(parser, name, check_is_quantizable if options.quantize else None)

    with torch.no_grad():
        exported = torch.export.export(model.module, model.inputs, model.keywords, dynamic_shapes=model.shapes)
        if options.quantize:
            graph = quantize_example(parser, name, exported, model.inputs)
            exported = torch.export.export(graph, model.inputs, model.keywords, dynamic_shapes=model.shapes)
        lowered = to_edge_transform_and_lower(
            exported,
            partitioner=[XnnpackPartitioner()] if options.delegate else [],
            compile_config=EdgeCompileConfig(_check_ir_validity=not options.quantize, _skip_dim_order=True),
            generate_etrecord=bool(options.etrecord),
        )
        program = lowered.to_executorch(ExecutorchBackendConfig(extract_delegate_segments=False))
        if options.etrecord:
            program.get_etrecord().save(options.etrecord)
        if options.test_after_export:
            _log_error(program.buffer, exported.module(), model.inputs)
    parts = (name, *(["xnnpack"] if options.delegate else []), "q8" if options.quantize else "fp32")
    print(f"wrote {save_pte_program(program, '_'.join(parts), options.output_dir)}")


if __name__ == "__main__":
    main()
