# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""`LlmConfig`: the options of an export of a language model, in YAML, on the command line, or in Python.

Names and defaults are those of ExecuTorch 1.4. Options of unsupported backends are fields too, so that every
configuration can be read; the export refuses those that are set, by name.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from enum import Enum
from typing import Any, ClassVar, TypeVar, get_args, get_type_hints  # OmegaConf reads these annotations at run time

from .choices import DtypeOverride, ModelType, PreqMode, Pt2eQuantize, QuantizeScope
from .older_options import OLDER_OPTIONS

_T = TypeVar("_T")


class LlmConfigError(ValueError):
    """An option is invalid, or this project does not support it."""


@dataclass
class LoraConfig:
    """An adapter: its checkpoint or folder, and its sizes, which adapter_config (JSON of PEFT) names unless lora_rank
    is given."""

    adapter_checkpoint: str = ""
    adapter_config: str | None = None
    lora_rank: int = 0
    lora_alpha: int = 0
    target_modules: list[str] = field(default_factory=list)
    adapter_quant: str | None = None


@dataclass
class BaseConfig:
    """The model and its files. checkpoint: safetensors, PyTorch, or a Hugging Face folder, whose config.json then
    replaces params."""

    model_class: ModelType = ModelType.llama3
    params: str | None = None
    checkpoint: str | None = None
    lora_config: LoraConfig | None = None
    tokenizer_path: str | None = None
    metadata: str | None = None
    use_lora: int = 0
    preq_mode: PreqMode | None = None
    preq_group_size: int = 32
    preq_embedding_quantize: str = "8,0"


@dataclass
class ModelConfig:
    """Rewrites of the model. use_shared_embedding: quantize a tied output layer like the embedding, so that the file
    stores their integers once. expand_rope_table has no effect: kernels are as fast with tables of half the width.
    kv_cache_dtype: the dtype of keys and values in the caches, that of the model by default; a model of float32 can
    keep them in 16 bits. ExecuTorch 1.4 does not have this option."""

    dtype_override: DtypeOverride = DtypeOverride.fp32
    enable_dynamic_shape: bool = True
    use_shared_embedding: bool = False
    use_sdpa_with_kv_cache: bool = False
    expand_rope_table: bool = False
    use_attention_sink: str | None = None
    output_prune_map: str | None = None
    input_prune_map: str | None = None
    use_kv_cache: bool = False
    quantize_kv_cache: bool = False
    local_global_attention: list[int] | None = None
    kv_cache_dtype: DtypeOverride | None = None

    def __post_init__(self) -> None:
        """Raise LlmConfigError for options that exclude or need each other."""
        if self.quantize_kv_cache and not self.use_kv_cache:
            raise LlmConfigError("model.quantize_kv_cache needs model.use_kv_cache=True")
        if self.use_sdpa_with_kv_cache and not self.use_kv_cache:
            raise LlmConfigError("model.use_sdpa_with_kv_cache needs model.use_kv_cache=True")
        windows = {
            "model.local_global_attention": self.local_global_attention,
            "model.use_attention_sink": self.use_attention_sink,
        }
        chosen = [name for name, value in windows.items() if value]
        if chosen and not self.use_kv_cache:
            raise LlmConfigError(f"{chosen[0]} needs model.use_kv_cache=True")
        if self.quantize_kv_cache:
            chosen.append("model.quantize_kv_cache")
        if len(chosen) > 1:
            raise LlmConfigError(f"{chosen[0]} and {chosen[1]} exclude each other")
        if self.local_global_attention and (
            min(self.local_global_attention) < 0 or not any(self.local_global_attention)
        ):
            raise LlmConfigError(
                "model.local_global_attention: expected window sizes, 0 for all positions, "
                f"found {list(self.local_global_attention)}"
            )
        if self.use_attention_sink is not None:
            self.attention_sink_sizes()
        self._check_cache_dtype()

    def _check_cache_dtype(self) -> None:
        dtype, model = self.kv_cache_dtype, self.dtype_override
        if dtype is None:
            return
        if self.quantize_kv_cache:
            raise LlmConfigError("model.kv_cache_dtype and model.quantize_kv_cache exclude each other")
        if not self.use_sdpa_with_kv_cache:
            raise LlmConfigError("model.kv_cache_dtype needs model.use_sdpa_with_kv_cache=True")
        if model not in (DtypeOverride.fp32, dtype):
            raise LlmConfigError(
                f"model.kv_cache_dtype: expected {model.value}, as model.dtype_override, found {dtype.value}"
            )

    def attention_sink_sizes(self) -> tuple[int, int]:
        """Return the sizes of sink and window. An update overwrites only the slots that it needs, so the eviction batch
        size has no effect.

        Raises LlmConfigError.
        """
        match = re.fullmatch(r"(\d+),(\d+)(?:,\d+)?", self.use_attention_sink or "")
        if match is None or int(match[2]) == 0:
            raise LlmConfigError(
                "model.use_attention_sink: expected 'sink size,window size[,eviction batch size]', "
                f"found {self.use_attention_sink!r}"
            )
        return int(match[1]), int(match[2])


@dataclass
class ExportConfig:
    """Sizes and files of the program. foundation_weights_file and lora_weights_file: names of `.ptd` files for the
    weights of the model and of its adapters; weights without a file are in the program. export_only: write the exported
    program (`.pt2`) and stop."""

    max_seq_length: int = 128
    max_context_length: int = 128
    output_dir: str = "."
    output_name: str | None = None
    so_library: str | None = None
    export_only: bool = False
    foundation_weights_file: str | None = None
    lora_weights_file: str | None = None

    def __post_init__(self) -> None:
        """Raise LlmConfigError for sizes below 1, or a context below the sequence length."""
        for name in ("max_seq_length", "max_context_length"):
            if getattr(self, name) < 1:
                raise LlmConfigError(f"export.{name}: expected a positive number, found {getattr(self, name)}")
        if self.max_context_length < self.max_seq_length:
            raise LlmConfigError(
                f"export.max_context_length: expected at least max_seq_length ({self.max_seq_length}), "
                f"found {self.max_context_length}"
            )


@dataclass
class DebugConfig:
    """Records and messages of an export. generate_etrecord: write etrecord.bin beside the program.

    profile_memory: write memory_profile.json beside the program, the tensors of each step for chrome://tracing.
    profile_path: a page (.html) of the time that each function of the export takes.
    """

    profile_memory: bool = False
    profile_path: str | None = None
    generate_etrecord: bool = False
    generate_full_logits: bool = False
    verbose: bool = False


@dataclass
class MethodConfig:
    """A method of a file with several. export_seq_len: 1 makes a method of one token; more is the number of tokens to
    export with, which varies where `model.enable_dynamic_shape`."""

    method_name: str = "forward"
    lora_config: LoraConfig | None = None
    export_seq_len: int | None = None


@dataclass
class MultimethodConfig:
    """Files with several methods, which share equal weights. share_mutable_buffers: they share their caches as well."""

    methods: list[MethodConfig] = field(default_factory=list)
    share_mutable_buffers: bool = False

    @property
    def enabled(self) -> bool:
        """Return whether `methods` replace `forward`."""
        return bool(self.methods)

    def __post_init__(self) -> None:
        """Raise LlmConfigError for invalid or repeated names and for lengths below 1."""
        names = [method.method_name for method in self.methods]
        for name in names:
            if not name.isidentifier() or names.count(name) > 1:
                raise LlmConfigError(f"multimethod.methods: expected different identifiers, found {name!r}")
        for method in self.methods:
            if method.export_seq_len is not None and method.export_seq_len < 1:
                raise LlmConfigError(
                    f"multimethod.methods: {method.method_name}: export_seq_len: expected a positive number, "
                    f"found {method.export_seq_len}"
                )


@dataclass
class QuantizationConfig:
    """Section `quantization` of an export's configuration.

    qmode: how linear layers are quantized; embedding_quantize: "bits,group size", 0 for one group a row. use_hqq:
    search for the scales with the smallest error of the weights (half-quadratic quantization), instead of deriving them
    from the largest magnitudes.
    """

    QMODE_OPTIONS: ClassVar[list[str]] = ["int8", "8da4w", "8da4w-gptq", "vulkan_4w", "4w"]
    AO_QUANT_PATTERNS: ClassVar[list[str]] = [r"torchao:8da(\d+)w", r"torchao:fpa(\d+)w"]

    qmode: str | None = None
    embedding_quantize: str | None = None
    pt2e_quantize: Pt2eQuantize | None = None
    group_size: int | None = None
    use_spin_quant: str | None = None
    use_qat: bool = False
    quantize_scope: QuantizeScope = QuantizeScope.full
    calibration_tasks: list[str] | None = None
    calibration_limit: int | None = None
    calibration_seq_length: int | None = None
    calibration_data: str = "Once upon a time"
    use_hqq: bool = True

    def __post_init__(self) -> None:
        """Raise LlmConfigError for an unknown mode or format, or a negative group size."""
        is_known = self.qmode is None or self.qmode in self.QMODE_OPTIONS
        if not is_known and not any(re.fullmatch(pattern, self.qmode or "") for pattern in self.AO_QUANT_PATTERNS):
            options = [*self.QMODE_OPTIONS, *self.AO_QUANT_PATTERNS]
            raise LlmConfigError(f"quantization.qmode: expected one of {options}, found {self.qmode!r}")
        if self.embedding_quantize is not None and not re.fullmatch(r"[248],\d+", self.embedding_quantize):
            raise LlmConfigError(
                "quantization.embedding_quantize: expected 'bits,group size' with 2, 4 or 8 bits, "
                f"found {self.embedding_quantize!r}"
            )
        if self.group_size is not None and self.group_size < 0:
            raise LlmConfigError(f"quantization.group_size: expected 0 or more, found {self.group_size}")

    def embedding_format(self) -> tuple[int, int]:
        """Return bits and group size of the embedding, 0 for a row. Raises LlmConfigError without a quantization."""
        if self.embedding_quantize is None:
            raise LlmConfigError("quantization.embedding_quantize: expected 'bits,group size', found none")
        bits, size = (int(part) for part in self.embedding_quantize.split(","))
        return bits, size


@dataclass
class XNNPackConfig:
    """The backend for CPUs. extended_ops has no effect: the backend always takes every operator that it supports."""

    enabled: bool = False
    extended_ops: bool = False


@dataclass
class OtherBackendConfig:
    """A backend that this project does not support."""

    enabled: bool = False


@dataclass
class TorchAOKernelsConfig:
    """Kernels of torchao, which this project does not support."""

    use_torchao_kernels_linear: bool = False
    use_torchao_kernels_tied_embedding: bool = False


@dataclass
class BackendConfig:
    """Backends, each with its options."""

    xnnpack: XNNPackConfig = field(default_factory=XNNPackConfig)
    coreml: OtherBackendConfig = field(default_factory=OtherBackendConfig)
    vulkan: OtherBackendConfig = field(default_factory=OtherBackendConfig)
    qnn: OtherBackendConfig = field(default_factory=OtherBackendConfig)
    mps: OtherBackendConfig = field(default_factory=OtherBackendConfig)
    openvino: OtherBackendConfig = field(default_factory=OtherBackendConfig)
    torchao: TorchAOKernelsConfig = field(default_factory=TorchAOKernelsConfig)
    tosa: OtherBackendConfig = field(default_factory=OtherBackendConfig)
    ethosu: OtherBackendConfig = field(default_factory=OtherBackendConfig)
    vgf: OtherBackendConfig = field(default_factory=OtherBackendConfig)
    mlx: OtherBackendConfig = field(default_factory=OtherBackendConfig)


@dataclass
class LlmConfig:
    """The configuration of an export, a section for each step."""

    base: BaseConfig = field(default_factory=BaseConfig)
    model: ModelConfig = field(default_factory=ModelConfig)
    export: ExportConfig = field(default_factory=ExportConfig)
    debug: DebugConfig = field(default_factory=DebugConfig)
    multimethod: MultimethodConfig = field(default_factory=MultimethodConfig)
    quantization: QuantizationConfig = field(default_factory=QuantizationConfig)
    backend: BackendConfig = field(default_factory=BackendConfig)

    @staticmethod
    def from_args(args: argparse.Namespace) -> LlmConfig:
        """Return the configuration that options of the older command describe. Raises LlmConfigError."""
        sections: dict[str, Any] = {}
        for option in OLDER_OPTIONS:
            default = LlmConfig.field_of(option.field)[1]
            value = getattr(args, option.destination, default)
            if value != default:
                *path, name = option.field.split(".")
                section = sections
                for part in path:
                    section = section.setdefault(part, {})
                section[name] = value
        return _filled(LlmConfig, sections)

    @staticmethod
    def field_of(path: str) -> tuple[Any, Any]:
        """Return the type, without None, and the default of a field such as "export.output_dir"."""
        kind: Any = LlmConfig
        default: Any = None
        for name in path.split("."):
            default = next(entry.default for entry in fields(kind) if entry.name == name)
            kind = _hints(kind)[name]
        return kind, default

    def refuse_unsupported(self) -> None:
        """Raise LlmConfigError for the first option that this project does not support."""
        others = vars(self.backend).items()
        used = [f"backend.{name}.enabled" for name, backend in others if getattr(backend, "enabled", False)]
        options = {
            "base.use_lora": self.base.use_lora,
            "base.preq_mode": self.base.preq_mode,
            "model.output_prune_map": self.model.output_prune_map,
            "model.input_prune_map": self.model.input_prune_map,
            "export.so_library": self.export.so_library,
            "quantization.calibration_tasks": self.quantization.calibration_tasks,
            "quantization.calibration_limit": self.quantization.calibration_limit,
            "quantization.calibration_seq_length": self.quantization.calibration_seq_length,
            "quantization.calibration_data": self.quantization.calibration_data != QuantizationConfig.calibration_data,
            "quantization.use_spin_quant": self.quantization.use_spin_quant,
            "quantization.use_qat": self.quantization.use_qat,
            "quantization.quantize_scope": self.quantization.quantize_scope != QuantizeScope.full,
            "backend.torchao": any(vars(self.backend.torchao).values()),
        }
        used = [name for name in used if name != "backend.xnnpack.enabled"]
        used += [name for name, value in options.items() if value]
        if self.quantization.qmode in ("8da4w-gptq", "vulkan_4w"):
            used.append(f"quantization.qmode={self.quantization.qmode}")
        if used:
            raise LlmConfigError(f"{used[0]}: this project does not support it; leave it out")
        if self.multimethod.enabled:
            self._check_methods()

    def _check_methods(self) -> None:
        if self.export.export_only:
            raise LlmConfigError("export.export_only and multimethod.methods exclude each other")
        methods = {method.method_name: method for method in self.multimethod.methods}
        if self.base.lora_config is not None:
            raise LlmConfigError("base.lora_config and multimethod.methods exclude each other")
        if self.quantization.pt2e_quantize is not None:
            raise LlmConfigError("quantization.pt2e_quantize and multimethod.methods exclude each other")
        is_shared = self.multimethod.share_mutable_buffers
        if {"prefill", "decode"} <= set(methods) and self.model.use_kv_cache and not is_shared:
            raise LlmConfigError(
                "multimethod.share_mutable_buffers: expected True, because prefill and decode use one cache"
            )
        for name, method in methods.items():
            length = method.export_seq_len
            if length is not None and length > self.export.max_seq_length:
                raise LlmConfigError(
                    f"multimethod.methods: {name}: export_seq_len: expected at most export.max_seq_length "
                    f"({self.export.max_seq_length}), found {length}"
                )


def _hints(kind: type) -> dict[str, Any]:
    """Return the types of a dataclass's fields, without None."""
    hints = get_type_hints(kind)
    return {
        name: next((argument for argument in get_args(hint) if type(None) in get_args(hint)), hint)
        for name, hint in hints.items()
    }


def _filled(kind: type[_T], values: Mapping[str, Any]) -> _T:
    """A dataclass with these values in its fields, and in those of its sections."""
    hints = _hints(kind)
    fields: dict[str, Any] = {}
    for name, value in values.items():
        hint = hints[name]
        if isinstance(value, Mapping):
            value = _filled(hint, value)
        elif isinstance(hint, type) and issubclass(hint, Enum):
            value = hint(value)
        fields[name] = value
    return kind(**fields)
