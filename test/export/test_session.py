# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Recipes and sessions: their stages, artifacts and refusals."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import torch

from executorch.exir import EdgeProgramManager, ExecutorchBackendConfig, ExportedProgram
from executorch.exir.backend.test.op_partitioner_demo import AddMulPartitionerDemo
from executorch.exir.lowered_backend_module import get_lowered_backend_modules
from executorch.exir.pass_base import ExportPass
from executorch.exir.serialize import deserialize_pte
from executorch.export import (
    AOQuantizationConfig,
    BackendRecipeProvider,
    ExportRecipe,
    ExportSession,
    LoweringRecipe,
    QuantizationRecipe,
    RecipeType,
    StageType,
    export,
    recipe_registry,
)
from executorch.export.stages import PipelineArtifact, Stage


class Mlp(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = torch.nn.Linear(8, 16), torch.nn.Linear(16, 4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.second(self.first(x).relu()) + 1


INPUTS = [(torch.randn(2, 8),), (torch.randn(2, 8),)]


def operators(session: ExportSession) -> list[str]:
    return [operator.name for operator in session.get_executorch_program().execution_plan[0].operators]


def test_an_empty_recipe_gives_a_portable_program() -> None:
    model = Mlp()
    session = export(model, INPUTS)
    assert list(session.get_stage_artifacts()) == [
        StageType.SOURCE_TRANSFORM,
        StageType.QUANTIZE,
        StageType.TORCH_EXPORT,
        StageType.TO_EDGE_TRANSFORM_AND_LOWER,
        StageType.TO_EXECUTORCH,
    ]
    assert "aten::relu" in operators(session)
    assert deserialize_pte(session.get_pte_buffer()).program.execution_plan[0].name == "forward"
    edge = session.get_edge_program_manager().exported_program()
    torch.testing.assert_close(edge.module()(*INPUTS[0]), model(*INPUTS[0]))
    assert session.get_exported_program().graph_signature.parameters
    assert session.get_example_input() is INPUTS[0]
    assert all(a.get_context("duration_ms") >= 0 for a in session.get_stage_artifacts().values())


def test_partitioners_of_the_recipe_delegate(capsys: pytest.CaptureFixture[str]) -> None:
    recipe = ExportRecipe(lowering_recipe=LoweringRecipe(partitioners=[AddMulPartitionerDemo()]))
    session = export(Mlp(), INPUTS, recipe)
    assert session.get_executorch_program().execution_plan[0].delegates
    session.print_delegation_info()
    printed = capsys.readouterr().out
    assert "Method forward" in printed and "aten_add_tensor" in printed
    assert "occurrences_in_delegated_graphs" in printed and "occurrences_in_non_delegated_graphs" in printed


def test_the_stages_one_by_one_do_the_same_as_in_one_go() -> None:
    class Recorder(ExportPass):
        ran = 0

        def call(self, graph_module: torch.fx.GraphModule) -> Any:
            Recorder.ran += 1
            return super().call(graph_module)

    def for_manager(manager: EdgeProgramManager) -> list[Any]:
        assert manager.methods == {"forward"}
        return [Recorder()]

    recipe = ExportRecipe(
        lowering_recipe=LoweringRecipe(
            partitioners=[AddMulPartitionerDemo()],
            edge_transform_passes=[lambda method, program: [Recorder()]],
            edge_manager_transform_passes=[for_manager],
        ),
        pipeline_stages=[
            StageType.TORCH_EXPORT,
            StageType.TO_EDGE,
            StageType.EDGE_PROGRAM_MANAGER_TRANSFORM,
            StageType.TO_BACKEND,
            StageType.TO_EXECUTORCH,
        ],
        strict=False,
    )
    session = export(Mlp(), INPUTS, recipe)
    assert Recorder.ran == 2
    assert session.get_executorch_program().execution_plan[0].delegates


def test_methods_constants_and_dynamic_shapes_go_in_by_name() -> None:
    rows = torch.export.Dim("rows", min=1, max=5)
    session = export(
        {"one": Mlp(), "two": torch.nn.ReLU()},
        {"one": INPUTS, "two": INPUTS},
        ExportRecipe(strict=False),
        dynamic_shapes={"two": ({0: rows},)},
        constant_methods={"version": 3},
    )
    plans = {plan.name: plan for plan in session.get_executorch_program().execution_plan}
    assert set(plans) == {"one", "two", "version"}
    sizes = {name: plans[name].values[plans[name].inputs[0]].val.sizes for name in ("one", "two")}
    assert sizes == {"one": [2, 8], "two": [5, 8]}


def test_shapes_by_argument_name_are_forwards() -> None:
    rows = torch.export.Dim("rows", min=1, max=5)
    session = export(Mlp(), INPUTS, ExportRecipe(strict=False), dynamic_shapes={"x": {0: rows}})
    plan = session.get_executorch_program().execution_plan[0]
    assert plan.values[plan.inputs[0]].val.sizes == [5, 8]


def test_an_exported_or_saved_program_starts_after_torch_export(tmp_path: Path) -> None:
    program = torch.export.export(Mlp(), INPUTS[0])
    path = str(tmp_path / "mlp.pt2")
    torch.export.save(program, path)
    for model in (program, path):
        session = export(model)
        assert list(session.get_stage_artifacts()) == [StageType.TO_EDGE_TRANSFORM_AND_LOWER, StageType.TO_EXECUTORCH]
        with pytest.raises(RuntimeError, match="Exported program is not available"):
            session.get_exported_program()


def test_aten_passes_run_between_torch_export_and_the_edge_dialect() -> None:
    def without_relu(method: str, program: ExportedProgram) -> ExportedProgram:
        for node in program.graph.find_nodes(op="call_function", target=torch.ops.aten.relu.default):
            node.replace_all_uses_with(node.args[0])
            program.graph.erase_node(node)
        return program

    session = export(Mlp(), INPUTS, ExportRecipe(aten_transform_passes=[without_relu]))
    assert "aten::relu" not in operators(session)


def test_files_are_written_to_the_given_paths(tmp_path: Path) -> None:
    session = export(Mlp(), INPUTS, ExportRecipe(strict=False), name="mlp", artifact_dir=str(tmp_path / "out"))
    assert (tmp_path / "out" / "mlp.pte").read_bytes() == session.get_pte_buffer()
    session.save_to_pte(str(tmp_path / "other"))
    assert (tmp_path / "other.pte").read_bytes() == session.get_pte_buffer()
    with pytest.raises(ValueError, match="output name is empty"):
        session.save_to_pte("")


def test_own_stages_can_be_registered() -> None:
    class Doubled(Stage):
        stage_type = StageType.SOURCE_TRANSFORM
        valid_predecessor_stages: list[StageType] = []
        can_start_pipeline = True

        def run(self, artifact: PipelineArtifact) -> None:
            models = {method: torch.nn.Sequential(model, model) for method, model in artifact.data.items()}
            self._artifact = artifact.copy_with_new_data(models)

    session = ExportSession(torch.nn.ReLU(), INPUTS, ExportRecipe(strict=False))
    session.register_stage(StageType.SOURCE_TRANSFORM, Doubled())
    assert isinstance(session.get_registered_stage(StageType.SOURCE_TRANSFORM), Doubled)
    seen: list[StageType] = []
    session.export(on_stage=seen.append)
    assert seen == list(session.get_all_registered_stages())
    assert (
        len(session.get_exported_program().graph.find_nodes(op="call_function", target=torch.ops.aten.relu.default))
        == 2
    )


@pytest.mark.parametrize(
    ("stages", "why"),
    [
        ([StageType.TO_EXECUTORCH], "cannot start a pipeline"),
        ([StageType.TORCH_EXPORT, StageType.TO_BACKEND], "Invalid transition from"),
        ([StageType.TORCH_EXPORT, StageType.TO_EXECUTORCH], "Invalid transition from"),
    ],
)
def test_stages_that_cannot_follow_each_other_are_refused(stages: list[StageType], why: str) -> None:
    with pytest.raises(ValueError, match=why):
        export(Mlp(), INPUTS, ExportRecipe(pipeline_stages=stages))


def test_a_finished_stage_cannot_be_requested_again() -> None:
    program = torch.export.export(Mlp(), INPUTS[0])
    recipe = ExportRecipe(pipeline_stages=[StageType.TORCH_EXPORT, StageType.TO_EDGE_TRANSFORM_AND_LOWER])
    with pytest.raises(ValueError, match=r"Cannot run TORCH_EXPORT stage.s. with ExportedProgram input"):
        export(program, export_recipe=recipe)


def test_missing_or_wrong_arguments_are_named() -> None:
    with pytest.raises(ValueError, match=r"example_inputs are required when model is nn.Module"):
        export(Mlp())
    with pytest.raises(TypeError, match="found int"):
        ExportSession(3, INPUTS)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="Example inputs for method forward not found or empty"):
        export(Mlp(), [])
    with pytest.raises(ValueError, match="expected a list of tuples"):
        export(Mlp(), INPUTS[0])  # type: ignore[arg-type]
    session = ExportSession(Mlp(), INPUTS)
    with pytest.raises(RuntimeError, match="Run Executorch Stage first"):
        session.get_pte_buffer()
    with pytest.raises(RuntimeError, match="Edge program manager is not available"):
        session.get_edge_program_manager()
    with pytest.raises(RuntimeError, match="No delegation info available"):
        session.print_delegation_info()
    with pytest.raises(KeyError, match="backward"):
        session.get_example_input("backward")


class Recipes(RecipeType):
    PLAIN = "plain"
    OTHER = "other"

    @classmethod
    def get_backend_name(cls) -> str:
        return "recipes_of_this_test"


class Provider(BackendRecipeProvider):
    @property
    def backend_name(self) -> str:
        return "recipes_of_this_test"

    def get_supported_recipes(self) -> Sequence[RecipeType]:
        return [Recipes.PLAIN]

    def create_recipe(self, recipe_type: RecipeType, **kwargs: Any) -> ExportRecipe | None:
        return ExportRecipe(name=f"plain_{kwargs.get('size')}") if self.supports_recipe(recipe_type) else None


def test_backends_provide_recipes_by_type() -> None:
    recipe_registry.register_backend_recipe_provider(Provider())
    assert "recipes_of_this_test" in recipe_registry.list_backends()
    assert ExportRecipe.get_recipe(Recipes.PLAIN, size=3).name == "plain_3"
    with pytest.raises(ValueError, match=r"Recipe 'other' not supported by .*Supported: \['plain'\]"):
        ExportRecipe.get_recipe(Recipes.OTHER)
    with pytest.raises(ValueError, match="Backend 'nobody' not available"):
        recipe_registry.get_supported_recipes("nobody")
    with pytest.raises(ValueError, match="expected a member of a RecipeType"):
        ExportRecipe.get_recipe("plain")  # type: ignore[arg-type]


def test_recipes_combine_in_order_and_keep_the_first_of_single_settings() -> None:
    first, second = AddMulPartitionerDemo(), AddMulPartitionerDemo()
    config = ExecutorchBackendConfig(segment_alignment=4096)
    combined = ExportRecipe.combine(
        [
            ExportRecipe(name="a", lowering_recipe=LoweringRecipe(partitioners=[first])),
            ExportRecipe(name="b", lowering_recipe=LoweringRecipe([second]), executorch_backend_config=config),
        ]
    )
    assert combined.name == "a_b" and combined.lowering_recipe is not None
    assert combined.lowering_recipe.partitioners == [first, second]
    assert combined.executorch_backend_config is not None
    assert combined.executorch_backend_config.segment_alignment == 4096
    assert combined.quantization_recipe is None
    assert ExportRecipe.combine([combined]) is combined
    with pytest.raises(ValueError, match="cannot be empty"):
        ExportRecipe.combine([])


def test_sources_are_quantized_in_a_copy_with_at_most_one_config() -> None:
    torchao = pytest.importorskip("torchao.quantization")
    config = AOQuantizationConfig(torchao.Int8WeightOnlyConfig(), lambda module, name: name == "first")
    with pytest.raises(ValueError, match="expected one torchao quantization config, found 2"):
        export(Mlp(), INPUTS, ExportRecipe(quantization_recipe=QuantizationRecipe(None, [config, config])))
    model = Mlp()
    stages = [StageType.SOURCE_TRANSFORM, StageType.TORCH_EXPORT]
    recipe = ExportRecipe(quantization_recipe=QuantizationRecipe(None, [config]), pipeline_stages=stages, strict=False)
    session = export(model, INPUTS, recipe)
    dtypes = {tensor.dtype for tensor in session.get_exported_program().state_dict.values()}
    assert torch.int8 in dtypes and model.first.weight.dtype is torch.float32


def test_graphs_are_quantized_with_torchao_quantizers_only() -> None:
    recipe = ExportRecipe(quantization_recipe=QuantizationRecipe(quantizers=[object()]))  # type: ignore[list-item]
    with pytest.raises(TypeError, match=r"expected a torchao.quantization.pt2e Quantizer, found object"):
        export(Mlp(), INPUTS, recipe)


def test_a_quantizer_quantizes_the_graph_calibrated_with_all_examples() -> None:
    quantizer_module = pytest.importorskip("torchao.quantization.pt2e.quantizer")

    class Annotating(quantizer_module.Quantizer):  # type: ignore[misc, name-defined]
        def annotate(self, model: torch.fx.GraphModule) -> torch.fx.GraphModule:
            from torchao.quantization.pt2e import HistogramObserver

            spec = quantizer_module.QuantizationSpec(
                dtype=torch.int8,
                observer_or_fake_quant_ctr=HistogramObserver,
                quant_min=-128,
                quant_max=127,
                qscheme=torch.per_tensor_affine,
            )
            for node in model.graph.find_nodes(op="call_function", target=torch.ops.aten.relu.default):
                annotation = quantizer_module.QuantizationAnnotation({node.args[0]: spec}, spec, _annotated=True)
                node.meta["quantization_annotation"] = annotation
            return model

        def validate(self, model: torch.fx.GraphModule) -> None:
            pass

    stages = [StageType.QUANTIZE, StageType.TORCH_EXPORT]
    recipe = ExportRecipe(quantization_recipe=QuantizationRecipe([Annotating()]), pipeline_stages=stages, strict=False)
    graph = export(Mlp(), INPUTS, recipe).get_exported_program().graph
    targets = [str(node.target) for node in graph.nodes if node.op == "call_function"]
    assert targets.count("quantized_decomposed.quantize_per_tensor.default") == 2


def test_quantized_sessions_keep_dynamic_dimensions() -> None:
    from executorch.backends.xnnpack.recipes import XNNPackRecipeType

    recipe = ExportRecipe.get_recipe(XNNPackRecipeType.PT2E_INT8_STATIC_PER_CHANNEL)
    rows = torch.export.Dim("rows", min=1, max=5)
    session = export(Mlp(), INPUTS, recipe, dynamic_shapes=({0: rows},))
    plan = session.get_executorch_program().execution_plan[0]
    assert plan.delegates and plan.values[plan.inputs[0]].val.sizes == [5, 8]
    assert session.run_method("forward", (torch.randn(5, 8),))[0].shape == (5, 4)


def test_a_program_runs_in_this_process_when_the_runtime_is_there() -> None:
    pytest.importorskip("executorch.extension.pybindings._portable_lib")
    model = Mlp()
    session = export(model, INPUTS, ExportRecipe(strict=False))
    with torch.no_grad():
        torch.testing.assert_close(session.run_method()[0], model(*INPUTS[0]))
        torch.testing.assert_close(session.run_method("forward", INPUTS[1])[0], model(*INPUTS[1]))


def test_delegates_are_found_in_the_edge_program() -> None:
    recipe = ExportRecipe(lowering_recipe=LoweringRecipe(partitioners=[AddMulPartitionerDemo()]), strict=False)
    session = export(Mlp(), INPUTS, recipe)
    graph_module = session.get_edge_program_manager().exported_program().graph_module
    assert len(get_lowered_backend_modules(graph_module)) == 1
