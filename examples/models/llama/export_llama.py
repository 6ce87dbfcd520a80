# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""The older command of `executorch.extension.llm.export.export_llm`: its options are fields of LlmConfig."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from executorch.extension.llm.export.config.llm_config import (
    BackendConfig,
    BaseConfig,
    DebugConfig,
    DtypeOverride,
    ExportConfig,
    LlmConfig,
    ModelConfig,
    ModelType,
    QuantizationConfig,
    XNNPackConfig,
)
from executorch.extension.llm.export.export_llm import run_command


def build_args_parser() -> argparse.ArgumentParser:
    """Return the parser of the command's options."""
    parser = argparse.ArgumentParser(
        prog="python -m executorch.examples.models.llama.export_llama", description=__doc__
    )
    parser.add_argument("--model", default="llama3", choices=[each.value for each in ModelType])
    parser.add_argument("-c", "--checkpoint")
    parser.add_argument("-p", "--params")
    parser.add_argument("-t", "--tokenizer_path")
    parser.add_argument("-kv", "--use_kv_cache", action="store_true")
    parser.add_argument("--use_sdpa_with_kv_cache", action="store_true")
    parser.add_argument("--disable_dynamic_shape", action="store_true")
    parser.add_argument("-X", "--xnnpack", action="store_true")
    parser.add_argument("--xnnpack-extended-ops", action="store_true")
    parser.add_argument("-qmode", "--quantization_mode")
    parser.add_argument("-G", "--group_size", type=int)
    parser.add_argument("-E", "--embedding-quantize", help="bits,group size")
    parser.add_argument("-d", "--dtype-override", default="fp32", choices=[each.value for each in DtypeOverride])
    parser.add_argument("--max_seq_length", type=int, default=128)
    parser.add_argument("--max_context_length", type=int, default=128)
    parser.add_argument("-o", "--output-dir", default=".")
    parser.add_argument("-n", "--output_name")
    parser.add_argument("--metadata", help="JSON of constant methods")
    parser.add_argument("--generate_full_logits", action="store_true")
    parser.add_argument("-v", "--verbose", action="store_true")
    return parser


def config_of(options: argparse.Namespace) -> LlmConfig:
    """Return the configuration that the options describe. Raises LlmConfigError."""
    return LlmConfig(
        base=BaseConfig(
            model_class=ModelType(options.model),
            params=options.params,
            checkpoint=options.checkpoint,
            tokenizer_path=options.tokenizer_path,
            metadata=options.metadata,
        ),
        model=ModelConfig(
            dtype_override=DtypeOverride(options.dtype_override),
            enable_dynamic_shape=not options.disable_dynamic_shape,
            use_sdpa_with_kv_cache=options.use_sdpa_with_kv_cache,
            use_kv_cache=options.use_kv_cache,
        ),
        export=ExportConfig(
            max_seq_length=options.max_seq_length,
            max_context_length=options.max_context_length,
            output_dir=options.output_dir,
            output_name=options.output_name,
        ),
        debug=DebugConfig(generate_full_logits=options.generate_full_logits, verbose=options.verbose),
        quantization=QuantizationConfig(
            qmode=options.quantization_mode,
            embedding_quantize=options.embedding_quantize,
            group_size=options.group_size,
        ),
        backend=BackendConfig(xnnpack=XNNPackConfig(options.xnnpack, options.xnnpack_extended_ops)),
    )


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command; 0, or 1 after a message."""
    options = build_args_parser().parse_args(arguments)
    return run_command("export_llama", lambda: config_of(options))


if __name__ == "__main__":
    sys.exit(main())
