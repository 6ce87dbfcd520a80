# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""`LLMEdgeManager`: the steps from a decoder to a file, as a chain of calls."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Mapping, Sequence
from enum import Enum
from pathlib import Path
from typing import Any

import torch
from torch import fx, nn
from torch.export import ExportedProgram

from executorch.exir import (
    EdgeCompileConfig,
    EdgeProgramManager,
    ExecutorchBackendConfig,
    to_edge,
    to_edge_transform_and_lower,
)
from executorch.exir.backend.partitioner import Partitioner
from executorch.exir.passes import MemoryPlanningPass
from executorch.exir.passes.state.external_constants_pass import FileOf, delegate_external_constants_pass_unlifted
from executorch.exir.program import ExecutorchProgramManager
from executorch.extension.llm.export.export_passes import RemoveRedundantTransposes

logger = logging.getLogger(__name__)


class BuilderError(ValueError):
    """A step was called before the one that it needs, or an option is invalid."""


class DType(Enum):
    """The dtype of a decoder's weights and activations."""

    fp32 = "fp32"
    fp16 = "fp16"
    bf16 = "bf16"

    def to_torch_dtype(self) -> torch.dtype:
        """Return torch's dtype."""
        return {DType.fp32: torch.float32, DType.fp16: torch.float16, DType.bf16: torch.bfloat16}[self]

    @staticmethod
    def from_torch_dtype(dtype: torch.dtype) -> DType:
        """Return the member of torch's dtype. Raises BuilderError for another one."""
        kinds = [kind for kind in DType if kind.to_torch_dtype() is dtype]
        if not kinds:
            raise BuilderError(f"dtype: expected float32, float16 or bfloat16, found {dtype}")
        return kinds[0]


class LLMEdgeManager:
    """Steps of an export; each returns the manager. Calls come in the order in which they are defined here.

    example_inputs: tokens and, with a cache, `{"input_pos": …}`. metadata: constant methods, as a dictionary or JSON.
    verbose: log the exported graph. save_exported_program: `export` writes `modelname.pt2` to the output folder.
    skip_dim_order: copies keep torch's memory formats. tokenizer_path is kept as an attribute. Raises BuilderError for
    the options of calibration by tasks.
    """

    def __init__(
        self,
        model: nn.Module,
        modelname: str,
        max_seq_len: int,
        use_kv_cache: bool,
        example_inputs: tuple[Any, ...],
        dtype: DType | None = None,
        example_kwarg_inputs: Mapping[str, Any] | None = None,
        enable_dynamic_shape: bool = False,
        generate_full_logits: bool = False,
        calibration_tasks: Sequence[str] | None = None,
        calibration_limit: int | None = None,
        calibration_seq_length: int | None = None,
        calibration_data: str | None = None,
        tokenizer_path: str | None = None,
        verbose: bool = False,
        metadata: Mapping[str, Any] | str | None = None,
        dynamic_shapes: Any = None,
        save_exported_program: bool = False,
        generate_etrecord: bool = False,
        skip_dim_order: bool = False,
    ) -> None:
        calibration = {
            "calibration_tasks": calibration_tasks,
            "calibration_limit": calibration_limit,
            "calibration_seq_length": calibration_seq_length,
            "calibration_data": calibration_data,
        }
        given = [name for name, value in calibration.items() if value is not None]
        if given:
            raise BuilderError(f"{', '.join(given)}: expected None; the example inputs calibrate the graph")
        self.model, self.modelname, self.dtype = model, modelname, dtype
        self.max_seq_len, self.use_kv_cache = max_seq_len, use_kv_cache
        self.example_inputs = example_inputs
        self.example_kwarg_inputs = dict(example_kwarg_inputs or {})
        self.enable_dynamic_shape, self.dynamic_shapes = enable_dynamic_shape, dynamic_shapes
        self.metadata = _metadata(metadata)
        self.generate_full_logits, self.generate_etrecord = generate_full_logits, generate_etrecord
        self.verbose, self.tokenizer_path = verbose, tokenizer_path
        self.save_exported_program, self.skip_dim_order = save_exported_program, skip_dim_order
        self.output_dir = "."
        self.pre_autograd_graph_module: fx.GraphModule | None = None
        self.edge_manager: EdgeProgramManager | None = None
        self.export_program: ExecutorchProgramManager | None = None
        self._saved_pte_filename: str | None = None

    def set_output_dir(self, output_dir: str) -> LLMEdgeManager:
        """Choose the folder of the file."""
        self.output_dir = output_dir
        return self

    def to_dtype(self, dtype_override: DType | None) -> LLMEdgeManager:
        """Convert the model; None keeps its dtype."""
        if dtype_override is not None:
            self.model = self.model.to(dtype_override.to_torch_dtype())
            self.dtype = dtype_override
        return self

    def source_transform(self, transforms: Sequence[Callable[[nn.Module], nn.Module]]) -> LLMEdgeManager:
        """Rewrite the model by functions that return it."""
        for transform in transforms:
            self.model = transform(self.model)
        return self

    def export(self) -> LLMEdgeManager:
        """Export the model; `pre_autograd_graph_module` is its graph."""
        exported = self._export(self.model)
        if self.save_exported_program:
            Path(self.output_dir).mkdir(parents=True, exist_ok=True)
            torch.export.save(exported, Path(self.output_dir) / f"{self.modelname}.pt2")
        self.pre_autograd_graph_module = exported.module()
        return self

    def run_canonical_optimizations(self) -> LLMEdgeManager:
        """Remove transposes that undo each other from the exported graph."""
        graph = self._required(self.pre_autograd_graph_module, "run_canonical_optimizations", "export")
        RemoveRedundantTransposes()(graph)
        return self

    def place_weights(self, file_of: FileOf) -> LLMEdgeManager:
        """Choose the `.ptd` files of weights that delegates will hold. file_of: None for weights of the program."""
        graph = self._required(self.pre_autograd_graph_module, "place_weights", "export")
        delegate_external_constants_pass_unlifted(graph, file_of)
        return self

    def pt2e_quantize(self, quantizers: Sequence[Any] | None) -> LLMEdgeManager:
        """Quantize the exported graph, calibrated with the example inputs; without quantizers, leave it."""
        if not quantizers:
            return self
        from torchao.quantization.pt2e.quantize_pt2e import (  # type: ignore[import-untyped]
            convert_pt2e,
            prepare_pt2e,
        )
        from torchao.quantization.pt2e.quantizer import ComposableQuantizer  # type: ignore[import-untyped]

        graph = self._required(self.pre_autograd_graph_module, "pt2e_quantize", "export")
        prepared = prepare_pt2e(graph, ComposableQuantizer(list(quantizers)))
        with torch.no_grad():
            prepared(*self.example_inputs, **self.example_kwarg_inputs)
        self.pre_autograd_graph_module = convert_pt2e(prepared)
        return self

    def export_to_edge(self) -> LLMEdgeManager:
        """Convert the graph to the Edge dialect, exporting the model first if necessary."""
        self.edge_manager = to_edge(
            self.exported(), constant_methods=self.metadata or None, compile_config=self._edge_config()
        )
        return self

    def to_backend(self, partitioners: Sequence[Partitioner | None] | None) -> LLMEdgeManager:
        """Delegate to each partitioner in turn."""
        edge = self._required(self.edge_manager, "to_backend", "export_to_edge")
        for partitioner in partitioners or []:
            if partitioner is not None:
                edge = edge.to_backend(partitioner)
        self.edge_manager = edge
        return self

    def to_edge_transform_and_lower(
        self, partitioners: Sequence[Partitioner] | None, transform_passes: Sequence[Any] | None = None
    ) -> LLMEdgeManager:
        """Convert and delegate in one step, in place of `export_to_edge` and `to_backend`.

        transform_passes: passes on the edge program, before delegation.
        """
        return self.lower_with({"forward": self}, partitioners, transform_passes)

    def lower_with(
        self,
        methods: Mapping[str, LLMEdgeManager],
        partitioners: Sequence[Partitioner] | None,
        transform_passes: Sequence[Any] | None = None,
    ) -> LLMEdgeManager:
        """Convert and delegate several managers' models as methods of one program, with this manager's metadata."""
        self.edge_manager = to_edge_transform_and_lower(
            {name: manager.exported() for name, manager in methods.items()},
            transform_passes=list(transform_passes) if transform_passes else None,
            partitioner=list(partitioners or []),
            constant_methods=self.metadata or None,
            compile_config=self._edge_config(),
            generate_etrecord=self.generate_etrecord,
        )
        return self

    def to_executorch(
        self,
        passes: Sequence[Any] | None = None,
        external_constants_tag: FileOf | None = None,
        share_mutable_buffers: bool = False,
    ) -> LLMEdgeManager:
        """Create the program, `export_program`. passes: further passes before memory planning.

        external_constants_tag: maps a weight to a `.ptd` file, or to None for the program. share_mutable_buffers: the
        methods of a program use the same caches.
        """
        edge = self._required(self.edge_manager, "to_executorch", "export_to_edge or to_edge_transform_and_lower")
        planning = MemoryPlanningPass(share_mutable_buffers=True) if share_mutable_buffers else MemoryPlanningPass()
        self.export_program = edge.to_executorch(
            ExecutorchBackendConfig(
                passes=list(passes or []),
                external_constants=external_constants_tag or False,
                memory_planning_pass=planning,
            )
        )
        return self

    def save_to_pte(self, output_name: str) -> None:
        """Write the program, with the ending .pte, and its `.ptd` files to the output folder."""
        program = self._required(self.export_program, "save_to_pte", "to_executorch")
        path = Path(self.output_dir) / (output_name if output_name.endswith(".pte") else f"{output_name}.pte")
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("wb") as file:
            program.write_to_file(file)
        program.write_tensor_data_to_file(str(path.parent))
        self._saved_pte_filename = str(path)

    def get_saved_pte_filename(self) -> str | None:
        """Return the path that `save_to_pte` wrote."""
        return self._saved_pte_filename

    def exported(self) -> ExportedProgram:
        """Return the exported program: of the graph, which steps after `export` may have changed, if it exists."""
        return self._export(self.model if self.pre_autograd_graph_module is None else self.pre_autograd_graph_module)

    def _export(self, model: nn.Module) -> ExportedProgram:
        with torch.no_grad():
            exported = torch.export.export(
                model,
                self.example_inputs,
                self.example_kwarg_inputs or None,
                dynamic_shapes=self._shapes(),
                strict=False,
            )
        _remove_transposes(exported)
        if self.verbose:
            logger.info("exported graph of %s:\n%s", self.modelname, exported.graph)
        return exported

    def _shapes(self) -> Any:
        """Dimensions that vary: those that were given, or the number of tokens."""
        if self.dynamic_shapes is not None or not self.enable_dynamic_shape:
            return self.dynamic_shapes
        count = torch.export.Dim("token_dim", min=1, max=self.max_seq_len)
        rest = tuple({"input_pos": None} if isinstance(example, dict) else None for example in self.example_inputs[1:])
        return ({1: count}, *rest)

    def _edge_config(self) -> EdgeCompileConfig:
        return EdgeCompileConfig(_check_ir_validity=False, _skip_dim_order=self.skip_dim_order)

    def _required(self, value: Any, step: str, before: str) -> Any:
        if value is None:
            raise BuilderError(f"{step} needs {before} before it")
        return value


def _remove_transposes(exported: ExportedProgram) -> None:
    """Remove transposes that undo each other: a delegate would copy all positions of a cache to transpose it."""
    RemoveRedundantTransposes()(exported.graph_module)
    output = exported.graph.output_node()
    for spec, node in zip(exported.graph_signature.output_specs, output.args[0], strict=True):
        if isinstance(node, fx.Node):
            spec.arg.name = node.name


def _metadata(given: Mapping[str, Any] | str | None) -> dict[str, Any]:
    if not isinstance(given, str):
        return dict(given or {})
    try:
        entries = json.loads(given)
    except ValueError as error:
        raise BuilderError(f"metadata: expected JSON: {error}") from error
    if not isinstance(entries, dict):
        raise BuilderError(f"metadata: expected a JSON object, found {type(entries).__name__}")
    return entries
