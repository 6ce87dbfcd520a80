# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""The options of the older command, `executorch.examples.models.llama.export_llama`, and the fields that they set."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class OlderOption:
    """An option. names: as on the command line. field: of LlmConfig, section.name. help: what it does."""

    names: tuple[str, ...]
    field: str
    help: str

    @property
    def destination(self) -> str:
        """The attribute of the parsed options: of the field where the option turns it off, else of the long name."""
        long = next(name for name in self.names if name.startswith("--"))
        return self.field.split(".")[-1] if long.startswith("--disable") else long.lstrip("-").replace("-", "_")


def _table(rows: str) -> tuple[OlderOption, ...]:
    """Options of lines `names | field | help`."""
    parts = ([part.strip() for part in line.split("|")] for line in rows.strip().splitlines())
    return tuple(OlderOption(tuple(names.split()), field, text) for names, field, text in parts)


OLDER_OPTIONS = _table("""
--model | base.model_class | which decoder; sizes without a checkpoint come from it
-c --checkpoint | base.checkpoint | safetensors, PyTorch or GGUF file, or Hugging Face folder; else downloaded or random
-p --params | base.params | params.json or config.json with the sizes
--adapter_checkpoint | base.lora_config.adapter_checkpoint | LoRA adapter: a file or a folder
--adapter_config | base.lora_config.adapter_config | the adapter's sizes, JSON of PEFT
-t --tokenizer_path | base.tokenizer_path | file of the tokenizer
-m --metadata | base.metadata | JSON object of constant methods, which runners read
-lora --use_lora | base.use_lora | rank of adapters in a checkpoint that is quantized already; refused
--preq_mode | base.preq_mode | format of a checkpoint that is quantized already; refused
--preq_group_size | base.preq_group_size | weights that share a scale in such a checkpoint
--preq_embedding_quantize | base.preq_embedding_quantize | bits,group size of the embedding in such a checkpoint
-d --dtype-override | model.dtype_override | dtype of weights and activations
--disable_dynamic_shape | model.enable_dynamic_shape | export for a fixed number of tokens: one with a cache
--use_shared_embedding | model.use_shared_embedding | let a tied output layer use the embedding's integers
-kv --use_kv_cache | model.use_kv_cache | keep keys and values of earlier positions
--use_sdpa_with_kv_cache | model.use_sdpa_with_kv_cache | attention reads only the filled positions
--quantize_kv_cache | model.quantize_kv_cache | keep keys and values in int8
--kv_cache_dtype | model.kv_cache_dtype | dtype of keys and values, 16 bits in a float32 model; ExecuTorch 1.4 lacks it
--local_global_attention | model.local_global_attention | window size of each layer, 0: all positions
--use_attention_sink | model.use_attention_sink | sink size,window size: generate without limit in a bounded cache
--expand_rope_table | model.expand_rope_table | no effect: kernels are as fast with tables of half the width
--output_prune_map | model.output_prune_map | refused
--input_prune_map | model.input_prune_map | refused
--max_seq_length | export.max_seq_length | maximum number of tokens of one call
--max_context_length | export.max_context_length | positions of the cache
-o --output-dir | export.output_dir | folder of the file
-n --output_name | export.output_name | name of the file
--export_only | export.export_only | stop after torch.export and write the exported program, .pt2
-s --so_library | export.so_library | refused: custom operators come with this package
-v --verbose | debug.verbose | print the exported graph
--generate_full_logits | debug.generate_full_logits | logits of every token, not only of the last one
--generate_etrecord | debug.generate_etrecord | write an ETRecord beside the file, for `executorch.devtools`
--profile_memory | debug.profile_memory | write memory_profile.json, the tensors of each step for chrome://tracing
-prof --profile_path | debug.profile_path | write a page (.html) of the time that each function takes
-qmode --quantization_mode | quantization.qmode | of linear layers: int8, 8da4w, 4w, torchao:8daNw or torchao:fpaNw
-G --group_size | quantization.group_size | weights that share a scale; 0: a row
-E --embedding-quantize | quantization.embedding_quantize | bits,group size of the embedding; group size 0: a row
--pt2e_quantize | quantization.pt2e_quantize | quantize the exported graph
--calibration_tasks | quantization.calibration_tasks | refused
--calibration_data | quantization.calibration_data | refused
--calibration_limit | quantization.calibration_limit | refused
--calibration_seq_length | quantization.calibration_seq_length | refused
-sq --use_spin_quant | quantization.use_spin_quant | refused
-qat --use_qat | quantization.use_qat | refused
-X --xnnpack | backend.xnnpack.enabled | delegate every operator that XNNPACK's backend has
--xnnpack-extended-ops | backend.xnnpack.extended_ops | no effect: --xnnpack does it
--use-torchao-kernels-linear | backend.torchao.use_torchao_kernels_linear | refused
--use-torchao-kernels-tied-embedding | backend.torchao.use_torchao_kernels_tied_embedding | refused
--coreml | backend.coreml.enabled | refused
-V --vulkan | backend.vulkan.enabled | refused
--qnn | backend.qnn.enabled | refused
--mps | backend.mps.enabled | refused
--openvino | backend.openvino.enabled | refused
--vgf | backend.vgf.enabled | refused
--mlx | backend.mlx.enabled | refused
""")
