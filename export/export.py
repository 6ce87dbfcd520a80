# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""ExportSession: runs the stages of a recipe from a model to a program and keeps every stage's artifact."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from torch.fx import GraphModule

from executorch.exir import EdgeProgramManager, ExecutorchProgramManager, ExportedProgram
from executorch.export.recipe import ExportRecipe
from executorch.export.stages import PipelineArtifact, Stage, make_stage
from executorch.export.types import StageType

if TYPE_CHECKING:
    from executorch.exir.schema import Program

__all__ = ["ExportSession", "Model", "OutputNameError", "export"]

_logger = logging.getLogger(__name__)
_OneModel = torch.nn.Module | ExportedProgram
Model = _OneModel | dict[str, torch.nn.Module] | dict[str, ExportedProgram] | str
_EDGE_STAGES = (
    StageType.TO_EDGE_TRANSFORM_AND_LOWER,
    StageType.TO_BACKEND,
    StageType.EDGE_PROGRAM_MANAGER_TRANSFORM,
    StageType.TO_EDGE,
)
# Kind of model → stages that it has already passed, which must not run again.
_DONE_FOR = {
    "nn.Module": set[StageType](),
    "GraphModule": {StageType.SOURCE_TRANSFORM, StageType.QUANTIZE},
    "ExportedProgram": {StageType.SOURCE_TRANSFORM, StageType.QUANTIZE, StageType.TORCH_EXPORT},
}
_DEFAULT_PIPELINE = (
    StageType.SOURCE_TRANSFORM,
    StageType.QUANTIZE,
    StageType.TORCH_EXPORT,
    StageType.TO_EDGE_TRANSFORM_AND_LOWER,
    StageType.TO_EXECUTORCH,
)


def export(
    model: Model,
    example_inputs: list[tuple[Any, ...]] | dict[str, list[tuple[Any, ...]]] | None = None,
    export_recipe: ExportRecipe | None = None,
    name: str | None = None,
    dynamic_shapes: Any | None = None,
    constant_methods: dict[str, Any] | None = None,
    artifact_dir: str | None = None,
    generate_etrecord: bool = False,
) -> ExportSession:
    """Run an export and return the finished session. Parameters as in `ExportSession`."""
    session = ExportSession(
        model=model,
        example_inputs=example_inputs,
        export_recipe=export_recipe,
        name=name,
        dynamic_shapes=dynamic_shapes,
        constant_methods=constant_methods,
        artifact_dir=artifact_dir,
        generate_etrecord=generate_etrecord,
    )
    session.export()
    return session


class OutputNameError(ValueError, AssertionError):
    """The name of an output file is empty. ExecuTorch 1.4 raises AssertionError here, so callers may catch either."""


class ExportSession:
    """One export.

    model: an nn.Module, a (quantized) GraphModule, an ExportedProgram, a dict of one of these by method name, or
        the path of a saved ExportedProgram.
    example_inputs: list of tuples of positional inputs, or a dict of such lists by method name. The first tuple is used
        for export, all for calibration. Required unless the model is already exported.
    dynamic_shapes: as in torch.export, for `forward`, or a dict by method name.
    constant_methods: method name → constant result.
    artifact_dir: folder to which `<name>.pte` is written.
    generate_etrecord: keep an ETRecord of the export, which `get_etrecord` returns.
    Raises ValueError without example inputs, unless the model is an ExportedProgram.
    """

    def __init__(
        self,
        model: Model,
        example_inputs: list[tuple[Any, ...]] | dict[str, list[tuple[Any, ...]]] | None = None,
        export_recipe: ExportRecipe | None = None,
        name: str | None = None,
        dynamic_shapes: Any | None = None,
        constant_methods: dict[str, Any] | None = None,
        artifact_dir: str | None = None,
        generate_etrecord: bool = False,
    ) -> None:
        loaded: Any = torch.export.load(model) if isinstance(model, str) else model
        self._model: dict[str, _OneModel] = loaded if isinstance(loaded, dict) else {"forward": loaded}
        self._input_model_type = _kind_of(self._model)
        if example_inputs is None and self._input_model_type != "ExportedProgram":
            raise ValueError(
                f"example_inputs are required when model is {self._input_model_type}; "
                "only an ExportedProgram has its own"
            )
        self._example_inputs = example_inputs if isinstance(example_inputs, dict) else {"forward": example_inputs or []}
        self._recipe = export_recipe or ExportRecipe()
        self._pipeline = self._recipe.pipeline_stages or self._get_default_pipeline()
        stages = {stage_type: make_stage(stage_type, self._recipe) for stage_type in self._pipeline}
        self._stages: dict[StageType, Stage] = {kind: stage for kind, stage in stages.items() if stage is not None}
        self._name = name or self._recipe.name or "model"
        self._artifact_dir = artifact_dir
        self._run_context: dict[str, Any] = {
            "example_inputs": self._example_inputs,
            "dynamic_shapes": _by_method(dynamic_shapes, self._model),
            "constant_methods": constant_methods,
            "export_recipe": self._recipe,
            "session_name": name,
            "artifact_dir": artifact_dir,
            "generate_etrecord": generate_etrecord,
        }
        self._stage_to_artifacts: dict[StageType, PipelineArtifact] = {}

    def register_stage(self, stage_type: StageType, stage: Stage) -> None:
        """Add a stage, or replace the built-in stage of that type."""
        self._stages[stage_type] = stage

    def get_registered_stage(self, stage_type: StageType) -> Stage | None:
        """Return the stage that runs as `stage_type`, None if there is none."""
        return self._stages.get(stage_type)

    def get_all_registered_stages(self) -> dict[StageType, Stage]:
        """Return all stages by type."""
        return self._stages

    def export(self, on_stage: Callable[[StageType], None] | None = None) -> None:
        """Run all stages, and call `on_stage` before each. ValueError: a stage cannot follow the one before it."""
        self._run_pipeline(on_stage)
        if self._artifact_dir is not None and StageType.TO_EXECUTORCH in self._stage_to_artifacts:
            folder = Path(self._artifact_dir)
            folder.mkdir(parents=True, exist_ok=True)
            self.save_to_pte(str(folder / self._name))

    def _run_pipeline(self, on_stage: Callable[[StageType], None] | None = None) -> None:
        self._validate_pipeline_sequence(self._pipeline)
        artifact = PipelineArtifact(self._model, self._run_context)
        for stage_type in self._pipeline:
            if on_stage is not None:
                on_stage(stage_type)
            stage, start = self._stages[stage_type], time.perf_counter()
            stage.run(artifact)
            artifact = stage.get_artifacts()
            artifact.add_context("duration_ms", int((time.perf_counter() - start) * 1000))
            _logger.info("stage %s took %d ms", stage_type.value, artifact.get_context("duration_ms"))
            self._stage_to_artifacts[stage_type] = artifact

    def get_stage_artifacts(self) -> dict[StageType, PipelineArtifact]:
        """Return the results of the stages that ran, by type."""
        return self._stage_to_artifacts

    def get_exported_program(self, method_name: str = "forward") -> ExportedProgram:
        """Return the result of torch.export. Raises RuntimeError before that stage, KeyError for an unknown method."""
        artifact = self._stage_to_artifacts.get(StageType.TORCH_EXPORT)
        if artifact is None:
            raise RuntimeError("Exported program is not available. Run Torch Export Stage first.")
        programs: dict[str, ExportedProgram] = artifact.data
        if method_name not in programs:
            raise KeyError(
                f"Method name {method_name!r} not found in exported programs. Available methods: {list(programs)}"
            )
        return programs[method_name]

    def get_edge_program_manager(self) -> EdgeProgramManager:
        """Return the edge program of the last edge stage. Raises RuntimeError before any edge stage."""
        for stage_type in _EDGE_STAGES:
            if stage_type in self._stage_to_artifacts:
                manager: EdgeProgramManager = self._stage_to_artifacts[stage_type].data
                return manager
        raise RuntimeError(
            "Edge program manager is not available. Run one of the stages "
            f"{[stage.value for stage in _EDGE_STAGES]} first."
        )

    def get_executorch_program(self) -> Program:
        """The program's values, before serialization."""
        return self.get_executorch_program_manager().executorch_program

    def get_executorch_program_manager(self) -> ExecutorchProgramManager:
        """Return the final program. Raises RuntimeError before that stage."""
        artifact = self._stage_to_artifacts.get(StageType.TO_EXECUTORCH)
        if artifact is None:
            raise RuntimeError("Executorch program manager is not initialized. Run Executorch Stage first.")
        manager: ExecutorchProgramManager = artifact.data
        return manager

    def get_pte_buffer(self) -> bytes:
        """Return the bytes of the `.pte` file."""
        return bytes(self.get_executorch_program_manager().buffer)

    def save_to_pte(self, output_name: str) -> None:
        """Write the file; append `.pte` to a name without it. Raises OutputNameError for an empty name."""
        if not output_name:
            raise OutputNameError("save_to_pte: the output name is empty")
        path = output_name if output_name.endswith(".pte") else f"{output_name}.pte"
        with open(path, "wb") as file:
            self.get_executorch_program_manager().write_to_file(file)

    def get_example_input(self, method_name: str = "forward") -> tuple[Any, ...]:
        """Return the inputs used for export. Raises KeyError for an unknown method, ValueError for an empty list."""
        if method_name not in self._example_inputs:
            raise KeyError(f"Method name {method_name!r} not found in example inputs")
        if not self._example_inputs[method_name]:
            raise ValueError(f"Example inputs list for method {method_name} is empty")
        return self._example_inputs[method_name][0]

    def run_method(self, method_name: str = "forward", example_inputs: tuple[Any, ...] | None = None) -> Sequence[Any]:
        """Run the program in this process's runtime. example_inputs: None takes those of the export.

        Raises RuntimeError if the program lacks the method, and the runtime's errors.
        """
        from executorch.runtime import Runtime

        method = Runtime.get().load_program(self.get_pte_buffer()).load_method(method_name)
        if method is None:
            raise RuntimeError(f"Failed to load method {method_name!r} from the program")
        outputs: Sequence[Any] = method.execute(
            self.get_example_input(method_name) if example_inputs is None else example_inputs
        )
        return outputs

    def print_delegation_info(self) -> None:
        """Print the delegated operators. Raises RuntimeError before a delegating stage."""
        ran = [stage for stage in _EDGE_STAGES[:2] if stage in self._stage_to_artifacts]
        if not ran:
            raise RuntimeError("No delegation info available: no stage that lowers to backends has run")
        for method, info in self._stage_to_artifacts[ran[0]].get_context("delegation_infos").items():
            print(f"Method {method}\n{info.get_summary()}")
            print(info.operator_table())

    def get_etrecord(self) -> Any:
        """Return the export's ETRecord. Raises RuntimeError before the program exists or without generate_etrecord."""
        return self.get_executorch_program_manager().get_etrecord()

    def _get_default_pipeline(self) -> list[StageType]:
        return [stage for stage in _DEFAULT_PIPELINE if stage not in _DONE_FOR[self._input_model_type]]

    def _validate_pipeline_sequence(self, stages: Sequence[StageType]) -> None:
        if not stages:
            raise ValueError("Pipeline stages cannot be empty")
        repeated = [stage.name for stage in stages if stage in _DONE_FOR[self._input_model_type]]
        if repeated:
            raise ValueError(
                f"Cannot run {', '.join(repeated)} stage(s) with {self._input_model_type} input: that is done already."
            )
        for previous, current in zip([None, *stages], stages, strict=False):
            stage = self._stages.get(current)
            if stage is None:
                raise ValueError(f"Stage {current} not found in registry, register it using session.register_stage()")
            if previous is None and not stage.can_start_pipeline:
                raise ValueError(f"Stage {current} cannot start a pipeline.")
            valid = stage.valid_predecessor_stages
            if previous is not None and valid and previous not in valid:
                raise ValueError(
                    f"Invalid transition from {previous} to {current}. Valid predecessors for {current}: {valid}"
                )


def _kind_of(models: dict[str, Any]) -> str:
    if not models:
        raise ValueError("model: the dict of methods is empty")
    kinds = set()
    for method, model in models.items():
        for kind, name in (
            (ExportedProgram, "ExportedProgram"),
            (GraphModule, "GraphModule"),
            (torch.nn.Module, "nn.Module"),
        ):
            if isinstance(model, kind):
                kinds.add(name)
                break
        else:
            raise TypeError(
                f"Unsupported model type for method {method!r}: expected an nn.Module, GraphModule or ExportedProgram, "
                f"found {type(model).__name__}"
            )
    if len(kinds) > 1:
        raise TypeError(f"the methods' models should be of one kind, found {sorted(kinds)}")
    return kinds.pop()


def _by_method(shapes: Any, models: dict[str, Any]) -> dict[str, Any]:
    """A dict whose keys are all methods is by method; any other (by argument name) is `forward`'s."""
    if shapes is None:
        return {}
    if isinstance(shapes, dict) and shapes and set(shapes) <= set(models):
        return shapes
    return {"forward": shapes}
