# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""From a checkpoint and an `LlmConfig` to a program: load, rewrite, quantize, export, lower, save."""

from __future__ import annotations

import dataclasses
import json
import logging
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from torch import nn

from executorch.devtools.backend_debug import get_delegation_info
from executorch.examples.models.llama.convert_gguf import args_of_gguf, integers_of_gguf, weights_of_gguf
from executorch.examples.models.llama.convert_weights import from_hugging_face, is_from_hugging_face, load_weights
from executorch.examples.models.llama.export_llama import build_args_parser
from executorch.examples.models.llama.kv_cache import SlidingWindow
from executorch.examples.models.llama.llama_transformer import Transformer
from executorch.examples.models.llama.lora import add_adapter, read_adapter
from executorch.examples.models.llama.model_args import ModelArgs
from executorch.examples.models.llama.presets import download, params_of
from executorch.examples.models.llama.short_conv import ShortConv
from executorch.examples.models.llama.source_transformation.attention_sink import enable_attention_sink
from executorch.examples.models.llama.source_transformation.custom_kv_cache import (
    replace_kv_cache_with_custom_kv_cache,
    replace_kv_cache_with_quantized_kv_cache,
    replace_kv_cache_with_ring_kv_cache,
    set_kv_cache_dtype,
)
from executorch.examples.models.llama.source_transformation.sdpa import (
    replace_sdpa_with_custom_op,
    replace_sdpa_with_quantized_sdpa,
)
from executorch.examples.models.llama.source_transformation.shared_embedding import share_output_layer
from executorch.exir.passes.state.external_constants_pass import FileOf
from executorch.exir.program import ExecutorchProgramManager
from executorch.extension.llm.export.builder import LLMEdgeManager
from executorch.extension.llm.export.config.llm_config import LlmConfig, LlmConfigError, LoraConfig
from executorch.extension.llm.export.gguf import GGUFFile, read_gguf
from executorch.extension.llm.export.load import load_checkpoint
from executorch.extension.llm.export.partitioner_lib import get_xnnpack_partitioner
from executorch.extension.llm.export.quantize import (
    linear_format,
    quantize_embeddings,
    quantize_linear_layers,
    store_integers,
)
from executorch.extension.llm.export.quantizer_lib import get_pt2e_quantization_params, get_pt2e_quantizers
from executorch.util.activation_memory_profiler import generate_memory_trace
from executorch.util.python_profiler import CProfilerFlameGraph

__all__ = ["build_args_parser", "build_model", "export_llama", "lower_llama", "lower_methods"]

logger = logging.getLogger(__name__)

_DTYPES = {"fp32": torch.float32, "fp16": torch.float16, "bf16": torch.bfloat16}


def export_llama(config: LlmConfig) -> str:
    """Export the model that the configuration names; return the path of the file.

    A published model without `base.checkpoint` is downloaded; other weights without a checkpoint are random.

    Raises LlmConfigError for options that are invalid or that this project does not support, ModelArgsError,
    CheckpointFileError, GGUFError and CheckpointError for files, OSError for those that cannot be read or written.
    """
    config.refuse_unsupported()
    folder = download(config.base.model_class) if config.base.checkpoint is None else None
    if folder is not None:
        config = dataclasses.replace(config, base=dataclasses.replace(config.base, checkpoint=str(folder)))
    if config.debug.profile_path is None:
        return _export(config)
    with CProfilerFlameGraph(config.debug.profile_path):
        return _export(config)


def _export(config: LlmConfig) -> str:
    if config.export.export_only:
        return _save_exported(config)
    program = lower_methods(config) if config.multimethod.enabled else lower_llama(build_model(config), config)
    path = _output_path(config)
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("wb") as file:
        program.write_to_file(file)
    program.write_tensor_data_to_file(path.parent)
    if config.debug.generate_etrecord:
        program.get_etrecord().save(path.parent / "etrecord.bin")
    if config.debug.profile_memory:
        for method in program.memory_plans:
            name = "memory_profile.json" if method == "forward" else f"memory_profile_{method}.json"
            generate_memory_trace(program, str(path.parent / name), method_name=method)
    logger.info("wrote %s (%.1f MB)", path, path.stat().st_size / 1e6)
    return str(path)


def _save_exported(config: LlmConfig) -> str:
    model = build_model(config)
    args = model.params
    path = _output_path(config, ".pt2")
    path.parent.mkdir(parents=True, exist_ok=True)
    torch.export.save(_exported(args, _rewrite(model, config), config).exported(), path)
    return str(path)


def _output_path(config: LlmConfig, ending: str = ".pte") -> Path:
    name = config.export.output_name or str(config.base.model_class.value)
    return Path(config.export.output_dir) / (name.removesuffix(".pte").removesuffix(ending) + ending)


def model_args(config: LlmConfig) -> ModelArgs:
    """Sizes of the model: of `base.params`, a GGUF file's metadata, or the config.json beside another checkpoint.

    Without any of them, those of `base.model_class`.
    """
    options: dict[str, Any] = {
        "max_seq_len": config.export.max_seq_length,
        "max_context_len": config.export.max_context_length,
        "use_kv_cache": config.model.use_kv_cache,
        "use_sdpa_with_kv_cache_op": config.model.use_sdpa_with_kv_cache,
        "generate_full_logits": config.debug.generate_full_logits,
        "enable_dynamic_shape": config.model.enable_dynamic_shape,
    }
    if config.base.params is not None:
        return ModelArgs.from_file(config.base.params, **options)
    file = _gguf(config)
    if file is not None:
        return args_of_gguf(file, **options)
    preset = params_of(config.base.model_class)
    if config.base.checkpoint is None and preset is None:
        raise LlmConfigError("base.params or base.checkpoint: expected the path of a model")
    if config.base.checkpoint is not None:
        folder = Path(config.base.checkpoint)
        config_path = (folder if folder.is_dir() else folder.parent) / "config.json"
        if config_path.exists():
            return ModelArgs.from_hugging_face(config_path, **options)
        if preset is None:
            raise LlmConfigError(f"base.params: expected a path, because {config_path} does not exist")
    assert preset is not None
    return ModelArgs.from_params(preset, **options)


def _gguf(config: LlmConfig) -> GGUFFile | None:
    """The checkpoint, if it is a GGUF file."""
    path = config.base.checkpoint
    return read_gguf(path) if path is not None and Path(path).suffix == ".gguf" else None


def build_model(config: LlmConfig) -> Transformer:
    """The model in eager mode, with the checkpoint's weights (random ones without a checkpoint), before any rewrite.

    `base.lora_config` adds its adapter.
    """
    args = model_args(config)
    file = _gguf(config)
    weights: Mapping[str, torch.Tensor] | None = None
    if file is not None:
        weights = weights_of_gguf(file, args)
        _log_kinds(file)
    elif config.base.checkpoint is None:
        logger.warning("base.checkpoint is missing: the weights are random")
    else:
        weights = load_checkpoint(config.base.checkpoint)
        if is_from_hugging_face(weights):
            weights = from_hugging_face(weights)
            # A params.json has no field for it; checkpoints of Hugging Face omit a tied output layer.
            args.tie_word_embeddings |= "output.weight" not in weights
    model = Transformer(args).eval()
    if weights is not None:
        load_weights(model, weights)
    if config.base.lora_config is not None:
        add_adapter(model, read_adapter(config.base.lora_config))
    if file is not None:
        store_integers(model, integers_of_gguf(file, args))
    return model.to(_DTYPES[config.model.dtype_override.value])


def _log_kinds(file: GGUFFile) -> None:
    """Log the quantizations whose linear layers become float."""
    kinds = Counter(tensor.type.name for name, tensor in file.tensors.items() if name != "token_embd.weight")
    for kind in sorted(set(kinds) - {"F32", "F16", "BF16"}):
        logger.info("%s: %d tensors of %s become float", file.path, kinds[kind], kind)


def _rewrite(model: Transformer, config: LlmConfig) -> nn.Module:
    quantization = config.quantization
    others = _share_embedding(model, config)
    if quantization.embedding_quantize is not None:
        quantize_embeddings(model, *quantization.embedding_format(), quantization.use_hqq)
    _rewrite_caches(model, config)
    return quantize_linear_layers(model, quantization, others)


def _share_embedding(model: Transformer, config: LlmConfig) -> dict[str, tuple[int, int]]:
    """Let a tied output layer use the quantized weights of the embedding, if both have one format.

    Returns the format of layers that `model.use_shared_embedding` gives the embedding's. Raises LlmConfigError where
    they cannot share.
    """
    quantization, required = config.quantization, config.model.use_shared_embedding
    linear = linear_format(quantization)
    embedding = None if quantization.embedding_quantize is None else quantization.embedding_format()
    is_possible = (
        model.params.tie_word_embeddings and linear is not None and linear[2] and type(model.output) is nn.Linear
    )
    if embedding is None or linear is None or not is_possible or embedding[0] == 2:
        if required:
            raise LlmConfigError(
                "model.use_shared_embedding: expected a model that ties embedding and output layer, "
                "quantization.embedding_quantize with 4 or 8 bits, and a quantization.qmode that quantizes activations"
            )
        return {}
    if not required and embedding != linear[:2]:
        return {}
    share_output_layer(model, embedding[0])
    return {"output": embedding} if embedding != linear[:2] else {}


def _rewrite_caches(model: Transformer, config: LlmConfig) -> None:
    """Replace caches and attention as the options say. Raises LlmConfigError for windows that do not fit."""
    options = config.model
    window = min((attention.window for attention in model.attentions() if attention.window), default=None)
    if options.quantize_kv_cache:
        if window is not None:
            raise LlmConfigError(
                f"model.quantize_kv_cache: expected False, because layers have a window of {window} positions"
            )
        replace_sdpa_with_quantized_sdpa(replace_kv_cache_with_quantized_kv_cache(model))
        return
    if options.use_sdpa_with_kv_cache:
        replace_kv_cache_with_custom_kv_cache(model)
        replace_sdpa_with_custom_op(model)
    if window is not None and options.use_kv_cache:
        _check_chunk(window, config)
    if options.local_global_attention:
        try:
            replace_kv_cache_with_ring_kv_cache(model, options.local_global_attention)
        except ValueError as error:
            raise LlmConfigError(f"model.local_global_attention: {error}") from error
        _check_chunk(min(size for size in options.local_global_attention if size), config)
    if options.use_attention_sink is not None:
        sink_size, window_size = options.attention_sink_sizes()
        enable_attention_sink(model, model.params, sink_size, window_size)
        _check_chunk(window_size, config)
    if options.kv_cache_dtype is not None:
        set_kv_cache_dtype(model, _DTYPES[options.kv_cache_dtype.value])


def _check_chunk(window_size: int, config: LlmConfig) -> None:
    """Check that a prefill fits the window: it writes all positions before it reads, so a longer one would overwrite
    keys of its first query. Raises LlmConfigError."""
    if config.export.max_seq_length > window_size:
        raise LlmConfigError(
            f"export.max_seq_length: expected at most the window of {window_size} positions, "
            f"found {config.export.max_seq_length}"
        )


def metadata(args: ModelArgs, config: LlmConfig, model: nn.Module) -> dict[str, Any]:
    """Return the constant methods that runners read. The JSON of `base.metadata` overrides them. model: rewritten."""
    constants: dict[str, Any] = {
        "get_max_seq_len": args.max_seq_len,
        "get_max_context_len": args.context,
        "get_n_layers": args.n_layers,
        "get_vocab_size": args.vocab_size,
        "use_kv_cache": args.use_kv_cache,
        "use_sdpa_with_kv_cache": args.use_sdpa_with_kv_cache_op,
        "enable_dynamic_shape": args.enable_dynamic_shape,
    }
    kept = _kept_positions(model)
    if kept is not None:
        constants["sliding_window"] = kept
    if config.base.metadata is not None:
        try:
            given = json.loads(config.base.metadata)
        except ValueError as error:
            raise LlmConfigError(f"base.metadata: expected JSON: {error}") from error
        if not isinstance(given, dict):
            raise LlmConfigError(f"base.metadata: expected a JSON object, found {type(given).__name__}")
        constants |= given
    return constants


def _kept_positions(model: nn.Module) -> int | None:
    """Return the largest number of positions after which a runner can still go back to an earlier one; None: no limit.

    A full ring overwrites positions; a convolution keeps only the last ones.
    """
    kept = [module.max_context_length for module in model.modules() if isinstance(module, SlidingWindow)]
    kept += [1 for module in model.modules() if isinstance(module, ShortConv) and module.use_cache]
    return min(kept, default=None)


def _example(args: ModelArgs, count: int | None) -> tuple[tuple[Any, ...], Any]:
    """Inputs of `count` tokens to export with, and which of their dimensions vary."""
    varies = args.enable_dynamic_shape and args.max_seq_len > 1 and count != 1
    if count is None:
        count = args.max_seq_len if not args.use_kv_cache else min(3, args.max_seq_len) if varies else 1
    tokens = torch.ones(1, count, dtype=torch.long)
    tokens_shape = {1: torch.export.Dim("token_dim", min=1, max=args.max_seq_len)} if varies else None
    if not args.use_kv_cache:
        return (tokens,), (tokens_shape,)
    return (tokens, {"input_pos": torch.tensor([0])}), (tokens_shape, {"input_pos": None})


def lower_llama(model: Transformer, config: LlmConfig) -> ExecutorchProgramManager:
    """Rewrite, quantize, export and lower the model, which is changed in place."""
    args = model.params
    return _lower({"forward": _exported(args, _rewrite(model, config), config)}, config)


def lower_methods(config: LlmConfig) -> ExecutorchProgramManager:
    """Export and lower the methods of `config.multimethod`. Methods with equal adapters, or none, share a model."""
    methods: dict[str, LLMEdgeManager] = {}
    rewritten: list[tuple[LoraConfig | None, ModelArgs, nn.Module]] = []
    for method in config.multimethod.methods:
        known = next((entry for entry in rewritten if entry[0] == method.lora_config), None)
        if known is None:
            base = dataclasses.replace(config.base, lora_config=method.lora_config)
            model = build_model(dataclasses.replace(config, base=base))
            known = (method.lora_config, model.params, _rewrite(model, config))
            rewritten.append(known)
        methods[method.method_name] = _exported(known[1], known[2], config, method.export_seq_len)
    return _lower(methods, config)


def _exported(
    args: ModelArgs, rewritten: nn.Module, config: LlmConfig, export_seq_len: int | None = None
) -> LLMEdgeManager:
    """Export a model, quantize its graph where the options say so, and choose the files of its weights."""
    inputs, shapes = _example(args, export_seq_len)
    quantization = config.quantization
    name = None if quantization.pt2e_quantize is None else quantization.pt2e_quantize.value
    manager = LLMEdgeManager(
        rewritten,
        config.base.model_class.value,
        args.max_seq_len,
        args.use_kv_cache,
        inputs,
        dynamic_shapes=shapes,
        metadata=metadata(args, config, rewritten),
        generate_etrecord=config.debug.generate_etrecord,
        verbose=config.debug.verbose,
    )
    quantizers = get_pt2e_quantizers(get_pt2e_quantization_params(name, quantization.qmode))
    file_of = _weights_files(config)
    if quantizers or file_of is not None:
        manager.export().pt2e_quantize(quantizers)
    return manager if file_of is None else manager.place_weights(file_of)


def _weights_files(config: LlmConfig) -> FileOf | None:
    """The function that chooses a weight's `.ptd` file, None where all weights are in the program."""
    names = (config.export.foundation_weights_file, config.export.lora_weights_file)
    base, adapter = (None if name is None else name.removesuffix(".ptd") for name in names)
    if base is None and adapter is None:
        return None
    return lambda node: adapter if "lora_" in node.name else base


def _lower(methods: Mapping[str, LLMEdgeManager], config: LlmConfig) -> ExecutorchProgramManager:
    partitioners = [get_xnnpack_partitioner(False)] if config.backend.xnnpack.enabled else []
    manager = next(iter(methods.values())).lower_with(methods, partitioners)
    if config.debug.verbose and manager.edge_manager is not None:
        for name in methods:
            graph = manager.edge_manager.exported_program(name).graph_module
            logger.info("delegation of %s:\n%s", name, get_delegation_info(graph).get_summary())
    is_shared = config.multimethod.share_mutable_buffers
    program = manager.to_executorch(None, _weights_files(config), is_shared).export_program
    assert program is not None
    return program
