# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""to_backend in all its forms: what is lowered, what stays, and that the numbers are eager's."""

from __future__ import annotations

import operator
from typing import Any, final

import pytest
import torch
from models.tagging_partitioner import TagsBy, TwoLinears, assert_same, by_name, core_aten, operators
from torch.export import ExportedProgram

from executorch.exir.backend.backend_api import MethodProgramsPartitionerSpec, to_backend, validation_disabled
from executorch.exir.backend.backend_details import BackendDetails, PreprocessResult
from executorch.exir.backend.compile_spec_schema import CompileSpec
from executorch.exir.backend.delegate.delegated_graph import get_delegates, get_non_lowered_nodes
from executorch.exir.backend.partition.partition_error import PartitionError
from executorch.exir.backend.partitioner import DelegationSpec, Partitioner, PartitionResult
from executorch.exir.backend.test.backend_with_compiler_demo import BackendWithCompilerDemo
from executorch.exir.backend.test.backend_with_named_data_map import BackendWithNDMPartitioner
from executorch.exir.backend.test.backend_with_preprocess_all_demo import BackendWithPreprocessAllPartitioner
from executorch.exir.backend.test.demo_backend import DemoBackend
from executorch.exir.backend.test.op_partitioner_demo import AddAttributePartitionerDemo, AddMulPartitionerDemo
from executorch.exir.delegate import executorch_call_delegate
from executorch.exir.lowered_backend_module import LoweredBackendModule, get_lowered_backend_modules


class MatmulAddSub(torch.nn.Module):
    def forward(self, a: torch.Tensor, x: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        y = torch.mm(a, x) + b
        y = y - a
        return torch.mm(y, x) + b


def square_inputs(count: int = 3) -> tuple[torch.Tensor, ...]:
    return tuple(torch.randn(2, 2) for _ in range(count))


def test_a_whole_program_becomes_one_lowered_module_that_matches_eager() -> None:
    model, inputs = MatmulAddSub(), square_inputs()
    specs = [CompileSpec("max_value", bytes([4]))]
    lowered = to_backend("BackendWithCompilerDemo", core_aten(model, inputs), specs)
    assert isinstance(lowered, LoweredBackendModule)
    assert (lowered.backend_id, lowered.compile_specs) == ("BackendWithCompilerDemo", specs)
    assert lowered.processed_bytes.startswith(b"demo 1\n")
    assert lowered.meta is not None and lowered.meta["_delegate_info_meta"] == "test"
    torch.testing.assert_close(lowered(*inputs), model(*inputs))


def test_a_lowered_module_composes_into_another_that_keeps_the_call() -> None:
    inner, inputs = MatmulAddSub(), square_inputs()
    lowered = to_backend("BackendWithCompilerDemo", core_aten(inner, inputs), [])

    class Outer(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.lowered = lowered

        def forward(self, a: torch.Tensor, x: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
            return self.lowered(a, x, b) * 2

    program = torch.export.export(Outer(), inputs, strict=False)
    assert len(program.graph.find_nodes(op="call_function", target=executorch_call_delegate)) == 1
    torch.testing.assert_close(program.module()(*inputs), inner(*inputs) * 2)


def test_a_partitioner_lowers_what_it_tags_and_leaves_the_rest() -> None:
    model, inputs = MatmulAddSub(), square_inputs()
    program = core_aten(model, inputs)
    before = str(program.graph)
    lowered = to_backend(program, AddMulPartitionerDemo())
    assert [node.name for node in get_delegates(lowered.graph)] == ["lowered_module_0", "lowered_module_1"]
    assert [str(node.target) for node in get_non_lowered_nodes(lowered.graph)] == ["aten.sub.Tensor"]
    assert_same(lowered, model, inputs)
    assert str(program.graph) == before, "the program given must stay as it is"
    assert not any("delegation_tag" in node.meta for node in lowered.graph.nodes)


def test_lowering_twice_gives_the_same_names() -> None:
    model, inputs = MatmulAddSub(), square_inputs()
    texts = {str(to_backend(core_aten(model, inputs), AddMulPartitionerDemo()).graph) for _ in range(2)}
    assert len(texts) == 1


def test_several_methods_are_lowered_together_and_methods_without_partitioner_stay() -> None:
    class AddSin(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return torch.cos((x + x).sin() - x)

    class JustSin(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return x.sin()

    inputs = (torch.randn(4),)
    methods = {"one": AddSin(), "two": JustSin(), "plain": JustSin()}
    programs = {name: core_aten(model, inputs) for name, model in methods.items()}
    partitioner = BackendWithPreprocessAllPartitioner()
    lowered = to_backend(MethodProgramsPartitionerSpec(programs, {"one": partitioner, "two": partitioner}))
    assert list(lowered) == ["one", "two", "plain"]
    assert lowered["plain"] is programs["plain"]
    payloads = {
        name: [module.processed_bytes.decode() for module in get_lowered_backend_modules(lowered[name].graph_module)]
        for name in ("one", "two")
    }
    assert payloads == {  # backend, its operators in all methods together, operators, compile specs
        "one": [
            "FirstBackendWithPreprocessAll#3#aten.add.Tensor:aten.sin.default:#add:b'\\x00';sin:b'\\x01';",
            "SecondBackendWithPreprocessAll#2#aten.sub.Tensor:aten.cos.default:#sub:b'\\x02';cos:b'\\x03';",
        ],
        "two": ["FirstBackendWithPreprocessAll#3#aten.sin.default:#sin:b'\\x01';"],
    }
    for name, model in methods.items():
        assert_same(lowered[name], model, inputs)


def test_an_unknown_backend_is_named_beside_the_known_ones() -> None:
    with pytest.raises(
        NotImplementedError, match=r"Backend NoSuch was not found.*BackendWithCompilerDemo.*DemoBackend"
    ):
        to_backend("NoSuch", core_aten(MatmulAddSub(), square_inputs()), [])


def test_an_operator_that_the_backend_refuses_is_named() -> None:
    class Cosine(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return x.cos()

    with pytest.raises(RuntimeError, match=r"aten.cos.default is not supported in backend BackendWithCompilerDemo"):
        to_backend("BackendWithCompilerDemo", core_aten(Cosine(), (torch.randn(2),)), [])


def test_wrong_arguments_are_named() -> None:
    program = core_aten(MatmulAddSub(), square_inputs())
    with pytest.raises(TypeError, match="found int"):
        to_backend(3)
    with pytest.raises(TypeError, match="should be a Partitioner, found ABCMeta"):
        to_backend(program, AddMulPartitionerDemo)
    with pytest.raises(TypeError, match="should be a ExportedProgram, found GraphModule"):
        to_backend("DemoBackend", program.graph_module, [])
    with pytest.raises(ValueError, match=r"methods \['no'\] without programs"):
        to_backend(MethodProgramsPartitionerSpec({"yes": program}, {"no": AddMulPartitionerDemo()}))


def test_a_backend_is_final() -> None:
    with pytest.raises(TypeError, match="Twice derives from the backend DemoBackend"):

        class Twice(DemoBackend):  # type: ignore[misc]
            pass


def test_a_backend_may_change_the_graph_it_is_given() -> None:
    @final
    class Vandal(BackendDetails):
        @staticmethod
        def preprocess(edge_program: ExportedProgram, compile_specs: list[CompileSpec]) -> PreprocessResult:
            for node in edge_program.graph.nodes:
                if node.op == "call_function":
                    node.target = operator.sub
            return PreprocessResult(b"")

    model, inputs = MatmulAddSub(), square_inputs()
    lowered = to_backend("Vandal", core_aten(model, inputs), [])
    torch.testing.assert_close(lowered(*inputs), model(*inputs))


def test_a_partitioner_that_changes_the_graph_is_refused_unless_validation_is_off() -> None:
    class Meddler(Partitioner):
        def partition(self, exported_program: ExportedProgram) -> PartitionResult:
            for node in exported_program.graph.find_nodes(op="call_function", target=torch.ops.aten.sub.Tensor):
                node.target = torch.ops.aten.add.Tensor
            return PartitionResult(exported_program, {})

    program = core_aten(MatmulAddSub(), square_inputs())
    with pytest.raises(
        PartitionError, match=r"Meddler should only tag nodes.*aten.add.Tensor.*against.*aten.sub.Tensor"
    ):
        to_backend(program, Meddler())
    with validation_disabled():
        to_backend(program, Meddler())


def test_a_partition_that_is_not_convex_is_refused_with_the_nodes_of_the_cycle() -> None:
    class Diamond(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return torch.sin(torch.cos(torch.exp(x)))

    with pytest.raises(PartitionError) as error:
        to_backend(core_aten(Diamond(), (torch.randn(2),)), TagsBy(operators("exp", "sin")))
    for word in ("exp (aten::exp)", "[partition t]", "is used by cos", "cos (aten::cos)", "is used by sin", ".py"):
        assert word in str(error.value)


def test_two_partitions_that_wait_for_each_other_are_refused() -> None:
    class Crossed(torch.nn.Module):
        def forward(self, x: torch.Tensor, y: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
            return x.exp().sin(), y.cos().tan()

    tags = {"exp": "a", "sin": "b", "cos": "b", "tan": "a"}
    with pytest.raises(PartitionError, match="tagged 'b', 'a' cannot"):
        to_backend(core_aten(Crossed(), (torch.randn(2), torch.randn(2))), TagsBy(by_name(**tags)))


def test_interleaved_partitions_are_put_in_an_order_that_can_run() -> None:
    class Interleaved(torch.nn.Module):
        def forward(self, x: torch.Tensor, y: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
            a, b = x.exp(), y.cos()
            c = a.sin()  # a's partition, after b
            d = c.tan() + b
            return d, c

    model, inputs = Interleaved(), (torch.randn(2), torch.randn(2))
    lowered = to_backend(core_aten(model, inputs), TagsBy(by_name(exp="a", sin="a", cos="b", tan="b", add="b")))
    assert len(get_delegates(lowered.graph)) == 2
    assert_same(lowered, model, inputs)


def test_one_value_used_by_many_and_returned_comes_out_of_the_delegate_once() -> None:
    class Fan(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, ...]:
            a = x + 1
            return a, a.sin(), a.cos(), a

    model, inputs = Fan(), (torch.randn(3),)
    lowered = to_backend(core_aten(model, inputs), TagsBy(operators("add")))
    (module,) = get_lowered_backend_modules(lowered.graph_module)
    assert len(module.original_module.graph_signature.user_outputs) == 1
    assert_same(lowered, model, inputs)


def test_a_getitem_is_delegated_with_the_operator_of_its_list() -> None:
    class Halves(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
            left, right = torch.split(x, 2)
            return left + right, right

    model, inputs = Halves(), (torch.randn(4),)
    lowered = to_backend(core_aten(model, inputs), TagsBy(operators("split_with_sizes", "split")))
    (module,) = get_lowered_backend_modules(lowered.graph_module)
    assert len(module.original_module.graph.find_nodes(op="call_function", target=operator.getitem)) == 2
    assert_same(lowered, model, inputs)


class Branches(torch.nn.Module):
    def forward(self, p: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
        def yes(x: torch.Tensor) -> torch.Tensor:
            return torch.mm(x, x) + x

        def no(x: torch.Tensor) -> torch.Tensor:
            return (x + x).sin()

        return torch.cond(p, yes, no, (x,)) + x


@pytest.mark.parametrize("taken", [True, False])
def test_partitions_inside_branches_become_delegates_of_the_branches(taken: bool) -> None:
    model, inputs = Branches(), (torch.tensor(taken), torch.randn(2, 2))
    lowered = to_backend(core_aten(model, inputs), AddMulPartitionerDemo())
    branches = [getattr(lowered.graph_module, name) for name in ("true_graph_0", "false_graph_0")]
    assert [len(get_lowered_backend_modules(branch)) for branch in branches] == [1, 1]
    assert len(get_lowered_backend_modules(lowered.graph_module)) == 1
    assert_same(lowered, model, inputs)


def test_a_delegated_cond_takes_its_branches_along() -> None:
    model, inputs = Branches(), (torch.tensor(True), torch.randn(2, 2))
    lowered = to_backend(core_aten(model, inputs), TagsBy(lambda node: "t" if node.op == "call_function" else None))
    (module,) = get_lowered_backend_modules(lowered.graph_module)
    assert module.original_module.graph.find_nodes(op="call_function", target=torch.ops.higher_order.cond)
    assert not get_non_lowered_nodes(lowered.graph)
    assert_same(lowered, model, inputs)


def test_partitions_inside_a_mapped_function_become_delegates_there() -> None:
    class Mapped(torch.nn.Module):
        def forward(self, xs: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
            return torch._higher_order_ops.map(lambda x, y: x + y, xs, y)

    model, inputs = Mapped(), (torch.randn(3, 2), torch.randn(2))
    lowered = to_backend(core_aten(model, inputs), AddMulPartitionerDemo())
    hosts = [module for _, module in lowered.graph_module.named_modules() if isinstance(module, LoweredBackendModule)]
    assert len(hosts) == 1
    assert_same(lowered, model, inputs)


def test_dynamic_shapes_pass_through_a_delegate() -> None:
    batch = torch.export.Dim("batch", min=2, max=8)
    inputs = (torch.randn(4, 4), torch.randn(4, 4))

    class Rows(torch.nn.Module):
        def forward(self, a: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
            return (torch.mm(a, x) + a).reshape(a.shape[0] * 4)

    program = core_aten(Rows(), inputs, dynamic_shapes=({0: batch}, None))
    lowered = to_backend(program, AddMulPartitionerDemo())
    assert len(get_delegates(lowered.graph)) == 1
    for rows in (2, 5, 8):
        assert_same(lowered, Rows(), (torch.randn(rows, 4), inputs[1]))


def test_a_second_partitioning_continues_the_numbers_and_keeps_existing_delegates() -> None:
    model, inputs = MatmulAddSub(), square_inputs()
    once = to_backend(core_aten(model, inputs), TagsBy(operators("sub")))
    twice = to_backend(once, AddMulPartitionerDemo())
    assert len(get_delegates(twice.graph)) == 3
    assert not get_non_lowered_nodes(twice.graph)
    assert_same(twice, model, inputs)


def test_attribute_partitioner_moves_constants_and_named_data_is_kept() -> None:
    model, inputs = TwoLinears(), (torch.randn(3, 2),)
    lowered = to_backend(core_aten(model, inputs), AddAttributePartitionerDemo())
    assert "shift" not in lowered.constants and "w" in lowered.state_dict
    named = to_backend(core_aten(model, inputs), BackendWithNDMPartitioner())
    (module,) = get_lowered_backend_modules(named.graph_module)
    assert module.named_data_store_output is not None
    assert set(module.named_data_store_output.pte_data) == {"aten.add.Tensor", "aten.sin.default"}


def test_preprocess_multimethod_must_answer_for_every_partition() -> None:
    @final
    class Forgetful(BackendDetails):
        @staticmethod
        def preprocess(edge_program: ExportedProgram, compile_specs: list[CompileSpec]) -> PreprocessResult:
            return PreprocessResult(b"")

        @classmethod
        def preprocess_multimethod(cls, edge_programs: Any, compile_specs: Any) -> dict[str, list[PreprocessResult]]:
            return {method: [] for method in edge_programs}

    class ToForgetful(AddingTags):
        backend = "Forgetful"

    program = core_aten(MatmulAddSub(), square_inputs())
    with pytest.raises(RuntimeError, match=r"Forgetful.preprocess_multimethod: method 'f' has 1 partitions, 0 results"):
        to_backend(MethodProgramsPartitionerSpec({"f": program}, {"f": ToForgetful()}))


class AddingTags(Partitioner):
    backend = BackendWithCompilerDemo.__name__

    def partition(self, exported_program: ExportedProgram) -> PartitionResult:
        for node in exported_program.graph.find_nodes(op="call_function", target=torch.ops.aten.sub.Tensor):
            node.meta["delegation_tag"] = "t"
        return PartitionResult(exported_program, {"t": DelegationSpec(self.backend, [])})
