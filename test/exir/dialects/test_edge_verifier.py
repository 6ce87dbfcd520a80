# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""The rules of the edge dialect: each is broken once, and the message says where."""

import pytest
import torch
from torch._export.verifier import SpecViolationError
from torch.export import export

from executorch.exir import EdgeCompileConfig, EdgeProgramManager, to_edge
from executorch.exir.dialects._ops import ops as exir_ops
from executorch.exir.error import ExportError, VerificationError
from executorch.exir.verification.verifier import EXIREdgeDialectVerifier
from executorch.runtime import Runtime


class Add(torch.nn.Module):
    def forward(self, x, y):
        return x + y


def _edge(dtype=torch.float32):
    return to_edge(export(Add(), (torch.ones(2, dtype=dtype), torch.ones(2, dtype=dtype)))).exported_program()


def _call(program):
    return next(node for node in program.graph.nodes if node.op == "call_function")


def _verify(program, **config):
    EXIREdgeDialectVerifier(EdgeCompileConfig(**config))(program)


def test_a_legal_program_passes():
    _verify(_edge())


def test_is_valid_returns_whether_the_rules_hold():
    program = _edge()
    verifier = EXIREdgeDialectVerifier()
    assert verifier.is_valid(program.graph_module)
    _call(program).target = torch.ops.aten.add.Tensor
    assert not verifier.is_valid(program.graph_module)
    assert EXIREdgeDialectVerifier(EdgeCompileConfig(_check_ir_validity=False)).is_valid(program.graph_module)


def test_a_handler_of_torchs_verification_error_catches_ours():
    program = _edge()
    _call(program).target = torch.ops.aten.add.Tensor
    with pytest.raises(SpecViolationError, match="expected an edge operator"):
        _verify(program)


def test_the_message_names_node_operator_dtypes_and_source_line():
    program = _edge()
    node = _call(program)
    node.target = torch.ops.aten.add.Tensor
    with pytest.raises(VerificationError) as caught:
        _verify(program)
    text = str(caught.value)
    for part in (node.name, "aten.add.Tensor", "float32[2]", "test_edge_verifier.py", "in forward", "EDGE verifier"):
        assert part in text
    assert isinstance(caught.value, ExportError)


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (lambda node: setattr(node, "target", torch.add), "not in the edge dialect"),
        (lambda node: setattr(node, "target", exir_ops.edge.aten.add_.Tensor), "functional"),
        (lambda node: setattr(node, "args", (node.args[0], 1.0)), "expected a tensor"),
        (lambda node: setattr(node, "target", exir_ops.edge.aten._standard_gamma.default), "not a Core ATen"),
        (lambda node: node.args[0].meta.update(val=torch.ones(2, dtype=torch.int32)), "one dtype"),
        (lambda node: node.args[0].meta.update(val=torch.ones(2, dtype=torch.complex64)), "complex64"),
        (lambda node: node.meta.update(val=torch.ones(1).expand(2)), "stride of 0"),
    ],
)
def test_each_rule_is_enforced(change, why):
    program = _edge()
    change(_call(program))
    with pytest.raises(VerificationError, match=why):
        _verify(program)


def test_memory_formats_and_dim_orders_exclude_each_other():
    class Copy(torch.nn.Module):
        def forward(self, x):
            return x.to(memory_format=torch.channels_last).double()

    exported = export(Copy(), (torch.ones(1, 2, 3, 4),))
    with_dim_orders = to_edge(exported).exported_program()
    without = to_edge(exported, compile_config=EdgeCompileConfig(_skip_dim_order=True)).exported_program()
    with pytest.raises(VerificationError, match="_skip_dim_order"):
        _verify(with_dim_orders, _skip_dim_order=True)
    with pytest.raises(VerificationError, match="dim_order_ops"):
        _verify(without)
    assert "dim_order_ops" in with_dim_orders.graph_module.code
    assert "dim_order_ops" not in without.graph_module.code


def test_verification_can_be_switched_off_and_exceptions_made():
    program = _edge()
    node = _call(program)
    node.target = exir_ops.edge.aten._standard_gamma.default
    node.args = (node.args[0],)
    _verify(program, _check_ir_validity=False)
    _verify(program, _core_aten_ops_exception_list=[torch.ops.aten._standard_gamma.default])
    with pytest.raises(VerificationError, match="_standard_gamma"):
        EdgeProgramManager(program)


def test_an_operator_outside_of_core_aten_is_refused_with_its_source_line():
    class Bessel(torch.nn.Module):
        def forward(self, x):
            return torch._standard_gamma(x)

    exported = export(Bessel(), (torch.ones(2),))
    with pytest.raises(VerificationError, match=r"_standard_gamma.*test_edge_verifier.py"):
        to_edge(exported)
    allowed = EdgeCompileConfig(_core_aten_ops_exception_list=[torch.ops.aten._standard_gamma.default])
    assert "_standard_gamma" in to_edge(exported, compile_config=allowed).exported_program().graph_module.code


def test_a_call_in_a_branch_is_named_by_the_line_that_calls_cond():
    class Branch(torch.nn.Module):
        def forward(self, x):
            return torch.cond(x.sum() > 0, torch._standard_gamma, torch.sin, (x,))

    with pytest.raises(VerificationError, match=r"_standard_gamma.*test_edge_verifier.py:\d+, in forward"):
        to_edge(export(Branch(), (torch.ones(2),)))


class _Picked(torch.nn.Module):
    def forward(self, x, rows, columns):
        written = x.clone()
        written[rows, columns] = -1.0
        return x[rows, columns], written


def test_the_indices_of_one_call_may_have_different_dtypes():
    x = torch.randn(3, 4)
    inputs = (x, torch.tensor([2, 0], dtype=torch.int32), torch.tensor([1, 3]))
    program = to_edge(export(_Picked(), inputs)).to_executorch()
    found = Runtime.get().load_program(program.buffer).load_method("forward").execute(inputs)
    for value, expected in zip(found, _Picked()(*inputs), strict=True):
        torch.testing.assert_close(torch.as_tensor(value), expected)


def test_an_index_of_a_dtype_that_the_operator_lacks_is_refused_beside_others():
    inputs = (torch.randn(3, 4), torch.tensor([2, 0]), torch.tensor([1, 3], dtype=torch.int32))
    program = to_edge(export(_Picked(), inputs)).exported_program()
    call = next(node for node in program.graph.nodes if "index" in str(node.target))
    call.args[1][0].meta["val"] = call.args[1][0].meta["val"].to(torch.int16)
    with pytest.raises(VerificationError, match="argument 'indices' has dtype int16; the operator takes bool, uint8"):
        _verify(program)
