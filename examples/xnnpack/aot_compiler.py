# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Export an example model for XNNPACK: ``python -m executorch.examples.xnnpack.aot_compiler``."""

from __future__ import annotations

import argparse
import logging
from collections.abc import Sequence
from typing import Any

import torch

from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner
from executorch.examples.models import UnavailableModelError, UnknownModelError, available_models, find_model
from executorch.examples.models.model_factory import EagerModelFactory
from executorch.examples.xnnpack.quantization.utils import check_is_quantizable, quantize_example
from executorch.exir import EdgeCompileConfig, ExecutorchBackendConfig, to_edge_transform_and_lower
from executorch.extension.export_util.utils import save_pte_program


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="executorch.examples.xnnpack.aot_compiler", description=__doc__)
    names = ", ".join(available_models())
    parser.add_argument("-m", "--model_name", required=True, help=f"the model's name, one of: {names}")
    parser.add_argument("-q", "--quantize", action="store_true", help="quantize the model to 8 bits")
    parser.add_argument(
        "-d", "--delegate", action=argparse.BooleanOptionalAction, default=True, help="delegate to XNNPACK"
    )
    parser.add_argument("-r", "--etrecord", default="", help="path of an ETRecord to write")
    parser.add_argument("-t", "--test_after_export", action="store_true", help="run the program and log its error")
    parser.add_argument("-o", "--output_dir", default=".", help="folder of the program (default: the current one)")
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

    Exits with code 2 for a model that is unknown, or of which nothing can be quantized.
    """
    logging.basicConfig(level=logging.INFO, format="[%(levelname)s %(filename)s:%(lineno)s] %(message)s")
    parser = _parser()
    options = parser.parse_args(arguments)
    name = options.model_name
    try:
        found = find_model(name)
        if options.quantize:
            check_is_quantizable(parser, name)
        model, inputs, keywords, shapes = EagerModelFactory.create_model(*found)
    except (UnknownModelError, UnavailableModelError, ImportError) as error:
        parser.error(str(error))

    with torch.no_grad():
        exported = torch.export.export(model.eval(), inputs, keywords, dynamic_shapes=shapes)
        if options.quantize:
            graph = quantize_example(parser, name, exported, inputs)
            exported = torch.export.export(graph, inputs, keywords, dynamic_shapes=shapes)
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
            _log_error(program.buffer, exported.module(), inputs)
    parts = (name, *(["xnnpack"] if options.delegate else []), "q8" if options.quantize else "fp32")
    print(f"wrote {save_pte_program(program, '_'.join(parts), options.output_dir)}")


if __name__ == "__main__":
    main()
