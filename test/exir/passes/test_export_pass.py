# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Users' passes, as the documentation teaches to write them."""

import pytest
import torch
from torch.export import export
from torch.fx.passes.infra.pass_base import PassBase

from executorch.exir import to_edge
from executorch.exir.dialects._ops import ops as exir_ops
from executorch.exir.error import ExportError
from executorch.exir.pass_base import (
    ExportedProgramPassBase,
    ExportedProgramPassResult,
    ExportPass,
    NodeMetadata,
    PassResult,
    map_args,
)
from executorch.exir.pass_manager import PassManager

X, Y = torch.randn(3), torch.randn(3)


class Add(torch.nn.Module):
    def forward(self, x, y):
        return x + y


class AddToMul(ExportPass):
    def call_operator(self, op, args, kwargs, meta):
        if op != exir_ops.edge.aten.add.Tensor:
            return super().call_operator(op, args, kwargs, meta)
        return super().call_operator(exir_ops.edge.aten.mul.Tensor, args, kwargs, meta)


def _run(manager, *inputs):
    return manager.exported_program().module()(*inputs)


def test_a_pass_replaces_an_operator_and_keeps_where_it_came_from():
    edge = to_edge(export(Add(), (X, Y)))
    changed = edge.transform([AddToMul()])
    torch.testing.assert_close(_run(changed, X, Y), X * Y)
    torch.testing.assert_close(_run(edge, X, Y), X + Y)
    (node,) = [node for node in changed.exported_program().graph.nodes if node.op == "call_function"]
    (old,) = [node for node in edge.exported_program().graph.nodes if node.op == "call_function"]
    for key in ("stack_trace", "nn_module_stack", "debug_handle"):
        assert node.meta[key] == old.meta[key]
    assert node.meta["val"].shape == (3,)


def test_a_pass_may_emit_several_operators_and_constants():
    class AddToScaledSub(ExportPass):
        def call_operator(self, op, args, kwargs, meta):
            if op != exir_ops.edge.aten.add.Tensor:
                return super().call_operator(op, args, kwargs, meta)
            doubled = super().call_operator(exir_ops.edge.aten.mul.Tensor, (args[0], torch.tensor(2.0)), {}, meta)
            assert doubled.is_tensor() and doubled.to_tensor().shape == (3,) and doubled.node.op == "call_function"
            return super().call_operator(exir_ops.edge.aten.sub.Tensor, (doubled, args[1]), {}, meta)

    changed = to_edge(export(Add(), (X, Y))).transform([AddToScaledSub()])
    torch.testing.assert_close(_run(changed, X, Y), 2 * X - Y)
    assert len(changed.exported_program().constants) == 1
    assert changed.to_executorch().buffer


def test_numbers_can_be_made_tensors_through_map_args():
    class ScalarToTensor(ExportPass):
        def call_operator(self, op, args, kwargs, meta):
            def coerce(value, arg):
                is_number = type(value) in (float, int, bool)
                return torch.tensor(value) if is_number and isinstance(arg.type, torch.TensorType) else value

            args, kwargs = map_args(op, coerce, args, kwargs)
            return super().call_operator(op, args, kwargs, meta)

    class AddTwo(torch.nn.Module):
        def forward(self, x):
            return x + 2.0

    graph_module = ScalarToTensor()(export(AddTwo(), (X,)).graph_module).graph_module
    torch.testing.assert_close(graph_module(X)[0], X + 2.0)
    (node,) = graph_module.graph.find_nodes(op="call_function", target=torch.ops.aten.add.Tensor)
    assert all(isinstance(arg, torch.fx.Node) for arg in node.args)


def test_map_args_says_which_arguments_calls_give_by_name():
    def by_name(value, arg):
        return arg.kwarg_only

    args, kwargs = map_args(torch.ops.aten.add.Tensor, by_name, (X, Y), {"alpha": 2})
    assert (args, kwargs) == ((False, False), {"alpha": True})


def test_passes_reach_into_control_flow():
    class Branch(torch.nn.Module):
        def forward(self, p, x):
            return torch.cond(p, lambda x: x + x, lambda x: x * 3, (x,))

    edge = to_edge(export(Branch(), (torch.tensor(True), X))).transform([AddToMul()])
    torch.testing.assert_close(_run(edge, torch.tensor(True), X), X * X)
    torch.testing.assert_close(_run(edge, torch.tensor(False), X), X * 3)


def test_map_scan_and_while_survive_a_pass():
    from torch._higher_order_ops.map import map as torch_map
    from torch._higher_order_ops.scan import scan

    class Loops(torch.nn.Module):
        def forward(self, xs, y, i):
            mapped = torch_map(lambda x, y: x + y, xs, y)
            carried, stacked = scan(lambda c, x: (c + x, c * x), y, xs)
            count, value = torch.ops.higher_order.while_loop(
                lambda i, v: i < 3, lambda i, v: (i + 1, v * 2), (i, y), ()
            )
            return mapped, carried, stacked, count, value

    inputs = (torch.randn(4, 3), X, torch.tensor(0))
    edge = to_edge(export(Loops(), inputs)).transform([ExportPass()])
    torch.testing.assert_close(_run(edge, *inputs), tuple(Loops()(*inputs)))


def test_protected_metadata_cannot_be_overwritten():
    meta = NodeMetadata({"val": 1, "mine": 2})
    meta["mine"] = 3
    assert meta.copy()["mine"] == 3 and "mine" in meta
    with pytest.raises(RuntimeError, match="val"):
        meta["val"] = 2


def test_a_pass_manager_flattens_and_checks():
    class Count(PassBase):
        def call(self, graph_module):
            graph_module.meta["count"] = graph_module.meta.get("count", 0) + 1
            return PassResult(graph_module, True)

    graph_module = to_edge(export(Add(), (X, Y))).exported_program().graph_module
    result = PassManager(passes=[Count(), [Count(), Count()]], run_checks_after_each_pass=True)(graph_module)
    assert result.graph_module.meta["count"] == 3
    with pytest.raises(ExportError, match="GraphModule"):
        PassManager().check(torch.nn.Linear(1, 1))


def test_passes_can_be_given_by_method_or_as_a_manager():
    programs = {"a": export(Add(), (X, Y)), "b": export(Add(), (X, Y))}
    edge = to_edge(programs).transform({"a": [AddToMul()]})
    torch.testing.assert_close(edge.exported_program("a").module()(X, Y), X * Y)
    torch.testing.assert_close(edge.exported_program("b").module()(X, Y), X + Y)
    everywhere = to_edge(programs).transform(PassManager([AddToMul()]))
    torch.testing.assert_close(everywhere.exported_program("b").module()(X, Y), X * Y)
    with pytest.raises(ExportError, match="'c'"):
        to_edge(programs).transform({"c": []})


def test_a_pass_over_the_whole_program_sees_its_weights():
    class Scale(ExportedProgramPassBase):
        def call(self, exported_program):
            for tensor in exported_program.state_dict.values():
                tensor.data = tensor.data * 2
            return ExportedProgramPassResult(exported_program, True)

    model = torch.nn.Linear(3, 2, bias=False)
    want = model(X) * 2
    edge = to_edge(export(model, (X,))).transform([Scale()])
    torch.testing.assert_close(_run(edge, X), want)


def test_an_illegal_graph_made_by_a_pass_is_refused():
    class Break(ExportPass):
        def call_operator(self, op, args, kwargs, meta):
            return super().call_operator(torch.ops.aten.mul.Tensor, args, kwargs, meta)

    with pytest.raises(ExportError, match="EDGE verifier"):
        to_edge(export(Add(), (X, Y))).transform([Break()])
