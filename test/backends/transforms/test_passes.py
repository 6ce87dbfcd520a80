# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""The passes of `executorch.backends.transforms` keep results, and change the operators that they say."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
from models.function_module import Function
from oracle.tolerances import LAYER
from torch.export import ExportedProgram, export

from executorch.backends.transforms import apply_addmm_mm_to_linear_transform
from executorch.backends.transforms.addmm_mm_to_linear import AddmmToLinearTransform
from executorch.backends.transforms.convert_dtype_pass import I64toI32
from executorch.backends.transforms.decompose_channels_last_pass import DecomposeChannelsLastPass
from executorch.backends.transforms.decompose_sdpa import DecomposeScaledDotProductAttention
from executorch.backends.transforms.fuse_batch_norm_with_conv import FuseBatchNormWithConvPass
from executorch.backends.transforms.fuse_cascaded_transpose_or_permute_ops import FuseCascadedTransposeOrPermuteOps
from executorch.backends.transforms.fuse_cascaded_view_ops import FuseCascadedViewOps
from executorch.backends.transforms.fuse_transpose_or_permute_op_pairs_pass import FuseTransposeOrPermuteOpPairsPass
from executorch.backends.transforms.fuse_view_copy import FuseViewCopyTransform
from executorch.backends.transforms.mean_to_sum_div import MeanToSumDiv
from executorch.backends.transforms.postpone_permute_below_squeeze_view import (
    PostponePermuteOpBelowSqueezeOrUnsqueezeLikeView,
)
from executorch.backends.transforms.rank_0_to_rank_1 import Rank0ToRank1Pass
from executorch.backends.transforms.remove_clone_ops import RemoveCloneOpsTransform
from executorch.backends.transforms.remove_getitem_op import RemoveGetItemPass
from executorch.backends.transforms.remove_permutes_around_elementwise_ops import RemovePermutesAroundElementwiseOps
from executorch.backends.transforms.replace_nop_transpose_or_permute_with_view import (
    ReplaceNopTransposeOrPermuteWithViewPass,
)
from executorch.backends.transforms.replace_scalar_with_tensor import ReplaceScalarWithTensorArgPass
from executorch.backends.transforms.view_copy_to_squeeze_unsqueeze import ViewCopyToSqueezeUnsqueezePass
from executorch.exir import EdgeCompileConfig, to_edge
from executorch.exir.pass_base import ExportPass, NodeMetadata

_aten: Any = torch.ops.aten
_last: Any = torch.ops.channels_last
_Computation = Callable[..., Any]


def _edge(function: _Computation, *inputs: torch.Tensor) -> ExportedProgram:
    model = function if isinstance(function, torch.nn.Module) else Function(function)
    config = EdgeCompileConfig(_check_ir_validity=False)
    return to_edge(export(model.eval(), inputs), compile_config=config).exported_program()


def _calls(graph_module: torch.fx.GraphModule) -> list[str]:
    """Names of the operators in their order, without namespace and overload."""
    return [node.target.name().split("::")[1].split(".")[0] for node in graph_module.graph.nodes
            if node.op == "call_function" and hasattr(node.target, "_schema")]  # fmt: skip


def _constants(program: ExportedProgram) -> list[Any]:
    targets = [spec.target for spec in program.graph_signature.input_specs if spec.target]
    return [program.state_dict.get(target, program.constants.get(target)) for target in targets]


def _permute(value: torch.Tensor, *dims: int) -> torch.Tensor:
    permuted: torch.Tensor = _aten.permute_copy(value, dims)
    return permuted


def _quantized(value: torch.Tensor) -> torch.Tensor:
    integers = torch.ops.quantized_decomposed.quantize_per_tensor(value, 0.1, 3, -128, 127, torch.int8)
    return integers  # type: ignore[no-any-return]


_IMAGE = torch.randn(2, 3, 4, 5)


class _OnlyAdditions(ReplaceScalarWithTensorArgPass):
    def get_replacement(self, op: Any, args: tuple[Any, ...], kwargs: dict[str, Any], meta: NodeMetadata) -> Any:
        if "add" not in str(op):
            return ExportPass.call_operator(self, op, args, kwargs, meta)
        return super().get_replacement(op, args, kwargs, meta)


CASES: list[tuple[str, ExportPass, _Computation, list[str]]] = [
    ("two permutes are one", FuseCascadedTransposeOrPermuteOps(),
     lambda x: _permute(_permute(x, 0, 2, 3, 1), 1, 0, 2, 3), ["permute_copy"]),
    ("permutes that cancel through a view are a view", FuseCascadedTransposeOrPermuteOps(),
     lambda x: _permute(_aten.view_copy(_permute(x, 0, 1, 3, 2), [2, 1, 3, 5, 4]), 0, 1, 2, 4, 3), ["view_copy"]),
    ("two views are one", FuseCascadedViewOps(),
     lambda x: _aten.view_copy(_aten.view_copy(x, [6, 20]), [120]), ["view_copy"]),
    ("permutes around a quantization are a view", FuseTransposeOrPermuteOpPairsPass(),
     lambda x: _permute(_quantized(_permute(x, 0, 2, 3, 1)), 0, 3, 1, 2), ["quantize_per_tensor", "view_copy"]),
    ("views on the way are one view in front", FuseViewCopyTransform(),
     lambda x: _aten.view_copy(_aten.abs(_aten.view_copy(x, [6, 20])), [120]), ["view_copy", "abs"]),
    ("a mean is a sum and a division", MeanToSumDiv(), lambda x: x.mean((1, -1), keepdim=True), ["sum", "full", "div"]),
    ("a permute moves behind a view", PostponePermuteOpBelowSqueezeOrUnsqueezeLikeView(),
     lambda x: _aten.view_copy(_permute(x, 0, 2, 3, 1), [2, 4, 1, 5, 3]), ["view_copy", "permute_copy"]),
    ("a permute that moves nothing is a view", ReplaceNopTransposeOrPermuteWithViewPass(),
     lambda x: _permute(_aten.view_copy(x, [2, 1, 60]), 1, 0, 2), ["view_copy", "view_copy"]),
    ("permutes around pointwise operators are removed", RemovePermutesAroundElementwiseOps(),
     lambda x: _permute(torch.relu(_permute(x, 0, 2, 3, 1)) * 2.0, 0, 3, 1, 2), ["relu", "mul"]),
    ("permutes around a cat and a mean are removed", RemovePermutesAroundElementwiseOps(),
     lambda x: _permute(torch.cat([p := _permute(x, 0, 2, 3, 1), p], 3).mean((1, 2), keepdim=True), 0, 3, 1, 2),
     ["cat", "mean"]),
    ("permutes around an unsqueezing view are removed", RemovePermutesAroundElementwiseOps(),
     lambda x: _permute(torch.relu(_aten.view_copy(_permute(x, 0, 2, 3, 1), [2, 4, 1, 5, 3])), 0, 4, 2, 1, 3),
     ["view_copy", "relu"]),
    ("a permute that the end does not undo stays", RemovePermutesAroundElementwiseOps(),
     lambda x: torch.relu(_permute(x, 0, 2, 3, 1)), ["permute_copy", "relu"]),
    ("numbers are tensors", ReplaceScalarWithTensorArgPass(),
     lambda x: _aten.sub.Scalar(_aten.add.Scalar(x, 2.5), 3, 2), ["full", "add", "full", "sub"]),
    ("a derived class decides which numbers are tensors", _OnlyAdditions(),
     lambda x: _aten.sub.Scalar(_aten.add.Scalar(x, 2.5), 3, 2), ["full", "add", "sub"]),
    ("a view that adds a size of 1 is unsqueeze", ViewCopyToSqueezeUnsqueezePass(),
     lambda x: _aten.view_copy(x, [1, 2, 3, 4, 5]), ["unsqueeze_copy"]),
    ("a view that removes sizes of 1 is squeeze", ViewCopyToSqueezeUnsqueezePass(),
     lambda x: _aten.view_copy(_aten.sum(x, [0, 2], True), [3, 5]), ["sum", "squeeze_copy"]),
    ("pooling without its indices", RemoveGetItemPass(),
     lambda x: _aten.max_pool2d_with_indices(x, [2, 2])[0], ["max_pool2d"]),
    ("copies are removed", RemoveCloneOpsTransform(), lambda x: torch.relu(x).clone() + 1.0, ["relu", "add"]),
    ("an operator of channels last", DecomposeChannelsLastPass(),
     lambda x: _last.avg_pool2d(x, [2, 2], [1, 1], [0, 0], False, True, None),
     ["permute_copy", "avg_pool2d", "permute_copy"]),
    ("an operator of channels last with two results", DecomposeChannelsLastPass(),
     lambda x: _last.max_pool2d_with_indices(x, [2, 2], [1, 1], [0, 0], [1, 1], False)[0],
     ["permute_copy", "max_pool2d_with_indices", "permute_copy"]),
]  # fmt: skip


@pytest.mark.parametrize(("made", "function", "expected"), [c[1:] for c in CASES], ids=[c[0] for c in CASES])
def test_a_pass_keeps_the_results_and_leaves_these_operators(
    made: ExportPass, function: _Computation, expected: list[str]
) -> None:
    program = _edge(function, _IMAGE)
    result = made(program.graph_module)
    assert result is not None
    result.graph_module.graph.eliminate_dead_code()
    result.graph_module.recompile()
    assert _calls(result.graph_module) == expected
    torch.testing.assert_close(result.graph_module(*_constants(program), _IMAGE)[0], function(_IMAGE))


def test_a_pooling_whose_indices_are_read_is_refused() -> None:
    graph_module = _edge(lambda x: _aten.max_pool2d_with_indices(x, [2, 2])[1], _IMAGE).graph_module
    with pytest.raises(AssertionError, match="expected one reader, of item 0"):
        RemoveGetItemPass()(graph_module)


def test_products_with_transposed_weights_are_linear() -> None:
    data, weight, bias = torch.randn(2, 3), torch.randn(4, 3), torch.randn(4)
    graph_module = _edge(lambda x, w, b: _aten.addmm(b, x, w.t()) + x.mm(w.t()), data, weight, bias).graph_module
    result = AddmmToLinearTransform()(graph_module)
    assert result is not None and _calls(result.graph_module) == ["linear", "linear", "add"]
    torch.testing.assert_close(graph_module(data, weight, bias)[0], 2 * (data @ weight.t()) + bias)
    assert apply_addmm_mm_to_linear_transform(graph_module.graph) is graph_module.graph


def test_int64_is_computed_in_int32_between_conversions() -> None:
    data = torch.arange(6)
    graph_module = _edge(lambda x: x + x, data).graph_module
    I64toI32()(graph_module)
    assert _calls(graph_module) == ["_to_dim_order_copy", "add", "_to_dim_order_copy"]
    assert graph_module(data)[0].dtype is torch.int64
    torch.testing.assert_close(graph_module(data)[0], data * 2)


@pytest.mark.parametrize("settings", [{}, {"is_causal": True}, {"scale": 0.3}, {"enable_gqa": True}], ids=str)
def test_attention_is_decomposed_with_its_results(settings: dict[str, Any]) -> None:
    heads = 2 if settings.get("enable_gqa") else 4
    inputs = (torch.randn(1, 4, 5, 8), torch.randn(1, heads, 5, 8), torch.randn(1, heads, 5, 8))
    attention = Function(lambda q, k, v: torch.nn.functional.scaled_dot_product_attention(q, k, v, **settings))
    graph_module = export(attention, inputs).graph_module
    DecomposeScaledDotProductAttention()(graph_module)
    assert "scaled_dot_product_attention" not in _calls(graph_module)
    torch.testing.assert_close(graph_module(*inputs)[0], attention(*inputs))


def test_a_batch_norm_is_part_of_the_convolution_before_it() -> None:
    model = torch.nn.Sequential(torch.nn.Conv2d(3, 4, 3), torch.nn.BatchNorm2d(4)).eval()
    model[1].running_mean.uniform_()
    model[1].running_var.uniform_(0.5, 2)
    program = _edge(model, _IMAGE)
    result = FuseBatchNormWithConvPass(program)(program.graph_module)
    assert result is not None and _calls(result.graph_module) == ["convolution"]
    torch.testing.assert_close(result.graph_module(*_constants(program), _IMAGE)[0], model(_IMAGE), **LAYER)


def test_inputs_without_dimensions_are_described_with_one_element() -> None:
    graph_module = _edge(torch.relu, torch.tensor(2.0)).graph_module
    Rank0ToRank1Pass()(graph_module)
    assert [tuple(n.meta["val"].shape) for n in graph_module.graph.nodes if n.op == "placeholder"] == [(1, 1)]
