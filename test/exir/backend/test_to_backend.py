# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""to_backend in all its forms: what is lowered, what stays, and that the numbers are eager's."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any, final

import pytest
import torch
from torch.export import ExportedProgram
from torch.fx import Node

from executorch.exir.backend.backend_api import MethodProgramsPartitionerSpec, to_backend, validation_disabled
from executorch.exir.backend.backend_details import BackendDetails, PreprocessResult
from executorch.exir.backend.compile_spec_schema import CompileSpec
from executorch.exir.backend.delegate.delegated_graph import get_delegates, get_non_lowered_nodes
from executorch.exir.backend.partition.constant_tagging import tag_constant_data, tag_mutated_buffer
from executorch.exir.backend.partition.partition_error import PartitionError
from executorch.exir.backend.partitioner import DelegationSpec, Partitioner, PartitionResult
from executorch.exir.backend.test.backend_with_compiler_demo import BackendWithCompilerDemo
from executorch.exir.backend.test.backend_with_named_data_map import BackendWithNDMPartitioner
from executorch.exir.backend.test.backend_with_preprocess_all_demo import BackendWithPreprocessAllPartitioner
from executorch.exir.backend.test.demo_backend import DemoBackend
from executorch.exir.backend.test.op_partitioner_demo import AddAttributePartitionerDemo, AddMulPartitionerDemo
from executorch.exir.delegate import executorch_call_delegate
from executorch.exir.lowered_backend_module import LoweredBackendModule, get_lowered_backend_modules

Chooser = Callable[[Node], str | None]


def core_aten(model: torch.nn.Module, inputs: tuple[Any, ...], **options: Any) -> ExportedProgram:
    return torch.export.export(model.eval(), inputs, **options).run_decompositions()


class TagsBy(Partitioner):
    """Tags what `choose` gives a tag, for DemoBackend, and then constants as asked."""

    def __init__(self, choose: Chooser, constants: bool = False, mutated: bool = False) -> None:
        super().__init__()
        self.choose, self.constants, self.mutated = choose, constants, mutated

    def partition(self, exported_program: ExportedProgram) -> PartitionResult:
        tags = {}
        for node in exported_program.graph.nodes:
            tag = self.choose(node)
            if tag is not None:
                node.meta["delegation_tag"] = tag
                tags[tag] = DelegationSpec(DemoBackend.__name__, [])
        if self.constants:
            tag_constant_data(exported_program)
        if self.mutated:
            tag_mutated_buffer(exported_program)
        return PartitionResult(exported_program, tags)


def operators(*names: str, tag: str = "t") -> Chooser:
    wanted = [[name] for name in names]
    return lambda node: tag if node.op == "call_function" and str(node.target).split(".")[1:2] in wanted else None


def by_name(**tags: str) -> Chooser:
    return lambda node: tags.get(node.name)


def assert_same(program: ExportedProgram, model: torch.nn.Module, inputs: tuple[Any, ...]) -> None:
    with torch.no_grad():
        torch.testing.assert_close(program.module()(*inputs), model(*inputs))


class MatmulAddSub(torch.nn.Module):
    def forward(self, a: torch.Tensor, x: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        y = torch.mm(a, x) + b
        y = y - a
        return torch.mm(y, x) + b


def square_inputs(count: int = 3) -> tuple[torch.Tensor, ...]:
    return tuple(torch.randn(2, 2) for _ in range(count))


def test_a_whole_program_becomes_one_lowered_module_that_runs_as_eager() -> None:
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
    operators_of_first = "#3#aten.add.Tensor:aten.sin.default:#"  # three in all methods together
    assert payloads["one"][0].startswith("FirstBackendWithPreprocessAll" + operators_of_first)
    assert payloads["one"][1].startswith("SecondBackendWithPreprocessAll#2#aten.sub.Tensor:aten.cos.default:#")
    assert payloads["two"][0].startswith("FirstBackendWithPreprocessAll#3#aten.sin.default:#")
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


def test_taking_an_element_goes_with_the_operator_that_makes_the_list() -> None:
    class Halves(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
            left, right = torch.split(x, 2)
            return left + right, right

    model, inputs = Halves(), (torch.randn(4),)
    lowered = to_backend(core_aten(model, inputs), TagsBy(operators("split_with_sizes", "split")))
    (module,) = get_lowered_backend_modules(lowered.graph_module)
    assert len(module.original_module.graph.find_nodes(op="call_function", target=operator.getitem)) == 2
    assert_same(lowered, model, inputs)


class TwoLinears(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.w = torch.nn.Parameter(torch.randn(2, 2))
        self.register_buffer("shift", torch.randn(2), persistent=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.mm((torch.mm(x, self.w) + self.shift).sin(), self.w)


def test_constants_that_are_tagged_leave_the_parents_signature() -> None:
    model, inputs = TwoLinears(), (torch.randn(3, 2),)
    lowered = to_backend(core_aten(model, inputs), TagsBy(operators("mm", "add", "sin"), constants=True))
    assert not lowered.state_dict and not lowered.constants
    assert [spec.kind.name for spec in lowered.graph_signature.input_specs] == ["USER_INPUT"]
    (module,) = get_lowered_backend_modules(lowered.graph_module)
    inner = module.original_module
    assert set(inner.graph_signature.parameters) == {"w"} and set(inner.graph_signature.buffers) == {"shift"}
    assert_same(lowered, model, inputs)


def test_constants_that_are_not_tagged_are_inputs_of_the_delegate() -> None:
    model, inputs = TwoLinears(), (torch.randn(3, 2),)
    lowered = to_backend(core_aten(model, inputs), TagsBy(operators("mm", "add", "sin")))
    assert set(lowered.graph_signature.parameters) == {"w"} and set(lowered.graph_signature.buffers) == {"shift"}
    assert_same(lowered, model, inputs)


def test_a_weight_of_two_partitions_goes_to_both_without_being_copied() -> None:
    model, inputs = TwoLinears(), (torch.randn(3, 2),)
    choose = by_name(mm="a", mm_1="b")
    lowered = to_backend(core_aten(model, inputs), TagsBy(choose, constants=True))
    first, second = (module.original_module for module in get_lowered_backend_modules(lowered.graph_module))
    assert first.state_dict["w"].data_ptr() == second.state_dict["w"].data_ptr() == model.w.data_ptr()
    assert "w" not in lowered.state_dict
    assert_same(lowered, model, inputs)


def test_a_weight_that_the_parent_reads_too_stays_there_as_well() -> None:
    model, inputs = TwoLinears(), (torch.randn(3, 2),)
    lowered = to_backend(core_aten(model, inputs), TagsBy(by_name(mm="a"), constants=True))
    (module,) = get_lowered_backend_modules(lowered.graph_module)
    assert "w" in lowered.state_dict and "w" in module.original_module.state_dict
    assert_same(lowered, model, inputs)


def test_a_shared_constant_marked_no_copy_is_refused() -> None:
    class NoCopy(TagsBy):
        def partition(self, exported_program: ExportedProgram) -> PartitionResult:
            result = super().partition(exported_program)
            exported_program.graph.find_nodes(op="placeholder")[0].meta["no_copy"] = True
            return result

    program = core_aten(TwoLinears(), (torch.randn(3, 2),))
    with pytest.raises(
        RuntimeError, match=r"p_w.*no_copy.*tagged with \(a\) but has user \(mm_1\) which has tag \(b\)"
    ):
        to_backend(program, NoCopy(by_name(mm="a", mm_1="b"), constants=True))


class Counter(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("state", torch.zeros(2))

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        self.state.add_(x)
        return self.state * 2, x.sin()


@pytest.mark.parametrize("owned", [True, False], ids=["owned by the delegate", "kept by the program"])
def test_a_buffer_that_is_updated_in_a_partition_keeps_its_state(owned: bool) -> None:
    reference, inputs = Counter(), (torch.ones(2),)
    lowered = to_backend(core_aten(Counter(), inputs), TagsBy(operators("add", "mul"), mutated=owned))
    assert ("state" in lowered.state_dict) is not owned
    assert bool(lowered.graph_signature.buffers_to_mutate) is not owned
    (module,) = get_lowered_backend_modules(lowered.graph_module)
    assert bool(module.original_module.graph_signature.buffers_to_mutate) is owned
    runnable = lowered.module()
    for _ in range(3):
        torch.testing.assert_close(runnable(*inputs), reference(*inputs))


def test_a_buffer_read_in_one_partition_and_updated_outside_stays_with_the_program() -> None:
    lowered = to_backend(core_aten(Counter(), (torch.ones(2),)), TagsBy(operators("mul"), constants=True, mutated=True))
    assert "state" in lowered.state_dict


def test_an_updated_buffer_tagged_without_its_update_is_refused() -> None:
    program = core_aten(Counter(), (torch.ones(2),))
    with pytest.raises(PartitionError, match="b_state"):
        to_backend(program, TagsBy(by_name(b_state="t", mul="t")))


@pytest.mark.parametrize("operator_tag", ["t", "other"])
def test_a_tagged_user_input_is_refused(operator_tag: str) -> None:
    with pytest.raises(RuntimeError, match="placeholder x carries tag 't', but it is a USER_INPUT"):
        to_backend(core_aten(Counter(), (torch.ones(2),)), TagsBy(by_name(x="t", sin=operator_tag)))


def test_a_tagged_output_is_refused() -> None:
    with pytest.raises(RuntimeError, match="output node carries tag"):
        to_backend(core_aten(Counter(), (torch.ones(2),)), TagsBy(by_name(output="t")))


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


def test_partitioning_again_numbers_on_and_leaves_existing_delegates() -> None:
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
