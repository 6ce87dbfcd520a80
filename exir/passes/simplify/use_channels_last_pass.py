# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Store the images between convolutions in channels last, with copies where a region of such nodes begins and ends."""

from __future__ import annotations

import torch
from torch import fx
from torch.fx.passes.infra.pass_base import PassResult

from executorch.exir.dialects._ops import ops as exir_ops
from executorch.exir.dialects.dim_order_ops import empty_in_dim_order
from executorch.exir.graph_module import all_graph_modules
from executorch.exir.pass_base import fake_mode_of
from executorch.exir.passes.graph_pass import GraphPass
from executorch.exir.rewrite.node_rewrite import insert_before
from executorch.exir.tensor import dim_order_from_stride

_COPY = exir_ops.edge.dim_order_ops._to_dim_order_copy.default
_CONTIGUOUS, _CHANNELS_LAST = [0, 1, 2, 3], [0, 2, 3, 1]

_CONVOLUTION = "aten::convolution"
_GETITEM = "getitem"
# Operators whose result takes the layout of their operands: pools, and operators on each element.
_FLEXIBLE = frozenset(
    {
        _CONVOLUTION,
        _GETITEM,
        "aten::abs",
        "aten::add.Tensor",
        "aten::avg_pool2d",
        "aten::cat",
        "aten::clamp",
        "aten::constant_pad_nd",
        "aten::div.Tensor",
        "aten::elu",
        "aten::exp",
        "aten::gelu",
        "aten::hardsigmoid",
        "aten::hardswish",
        "aten::hardtanh",
        "aten::leaky_relu",
        "aten::max_pool2d_with_indices",
        "aten::maximum",
        "aten::minimum",
        "aten::mul.Tensor",
        "aten::relu",
        "aten::sigmoid",
        "aten::silu",
        "aten::slice_copy.Tensor",
        "aten::sub.Tensor",
        "aten::tanh",
        "aten::upsample_bilinear2d.vec",
        "aten::upsample_nearest2d.vec",
    }
)
# Operators that read both layouts equally fast, and whose result keeps its layout.
_READERS = frozenset({"aten::_adaptive_avg_pool2d", "aten::mean.dim", "aten::sum.dim_IntList"})
# With fewer convolutions for each copy, the copies cost more than the layout saves.
_CONVOLUTIONS_FOR_A_COPY = 4


def _name(node: fx.Node) -> str:
    name = getattr(node.target, "name", None)
    return str(name()) if callable(name) else getattr(node.target, "__name__", "")


def _is_image(value: object) -> bool:
    """Return whether a value is a contiguous 4-d tensor that channels last would store in another order."""
    if not isinstance(value, torch.Tensor) or value.dim() != 4:
        return False
    _, channels, height, width = (size if isinstance(size, int) else 0 for size in value.shape)
    is_contiguous = list(dim_order_from_stride(value.stride())) == _CONTIGUOUS
    return is_contiguous and channels != 1 and (height, width) != (1, 1)


def _results(node: fx.Node) -> list[object]:
    value = node.meta.get("val")
    return list(value) if isinstance(value, (list, tuple)) else [value]


def _images(node: fx.Node) -> list[fx.Node]:
    """Return the operands of a flexible call that must have the layout of its result."""
    operands = node.all_input_nodes[:1] if _name(node) == _CONVOLUTION else node.all_input_nodes
    return [operand for operand in operands if any(map(_is_image, _results(operand)))]


def _regions(graph_module: fx.GraphModule) -> list[set[fx.Node]]:
    """Return the sets of flexible calls that are connected by images."""
    region_of: dict[fx.Node, set[fx.Node]] = {}
    for node in graph_module.graph.nodes:
        flexible = node.op == "call_function" and _name(node) in _FLEXIBLE and any(map(_is_image, _results(node)))
        if not flexible or (_name(node) == _GETITEM and node.args[0] not in region_of):
            continue
        region = {node}.union(*(region_of.get(operand, ()) for operand in _images(node)))
        region_of.update(dict.fromkeys(region, region))
    return list({id(region): region for region in region_of.values()}.values())


def _count_convolutions(region: set[fx.Node]) -> int:
    """Count the convolutions of float32: the optimized kernels compute no other dtype."""
    return sum(_name(node) == _CONVOLUTION and node.meta["val"].dtype == torch.float32 for node in region)


def _entering(region: set[fx.Node]) -> dict[fx.Node, list[fx.Node]]:
    """Return the images from outside with the calls that read them, in graph order."""
    readers: dict[fx.Node, list[fx.Node]] = {}
    for node in sorted(region):
        for image in _images(node):
            if image not in region:
                readers.setdefault(image, []).append(node)
    return readers


def _leaving(region: set[fx.Node]) -> dict[fx.Node, list[fx.Node]]:
    """Return the images that calls outside read in the layout they have now, with these calls."""
    readers: dict[fx.Node, list[fx.Node]] = {}
    for node in sorted(region):
        outside = [user for user in node.users if user not in region and _name(user) not in _READERS]
        if outside and _is_image(node.meta["val"]):
            readers[node] = outside
    return readers


class UseChannelsLastPass(GraphPass):
    """Changes connected convolutions, pools and elementwise calls to channels last where that saves time.

    Inputs and outputs of a graph, and operands of all other calls, keep their layouts. A region costs a copy for each
    image that enters or leaves it.

    Helps: CNNs on optimized kernels, whose layers then transpose no image.

    Results: the order in which a convolution sums may change.
    """

    def call(self, graph_module: fx.GraphModule) -> PassResult:
        modified = False
        for module in all_graph_modules(graph_module):
            mode = fake_mode_of(module)
            for region in _regions(module):
                entering, leaving = _entering(region), _leaving(region)
                copies = len(entering) + len(leaving)
                if _count_convolutions(region) < _CONVOLUTIONS_FOR_A_COPY * copies:
                    continue
                with mode:
                    _rewrite(region, entering, leaving)
                modified = True
        return PassResult(graph_module, modified)


def _rewrite(
    region: set[fx.Node], entering: dict[fx.Node, list[fx.Node]], leaving: dict[fx.Node, list[fx.Node]]
) -> None:
    for image, readers in entering.items():
        value = _in_channels_last(image.meta["val"])
        copy = insert_before(readers[0], _COPY, (image,), {"dim_order": _CHANNELS_LAST}, value)
        for reader in readers:
            reader.replace_input_with(image, copy)
    for node, readers in leaving.items():
        copy = insert_before(node.next, _COPY, (node,), {"dim_order": _CONTIGUOUS}, node.meta["val"], node)
        for reader in readers:
            reader.replace_input_with(node, copy)
    for node in region:
        value = node.meta["val"]
        several = type(value)(map(_in_channels_last, value)) if isinstance(value, (list, tuple)) else None
        node.meta["val"] = _in_channels_last(value) if several is None else several
        node.meta.pop("tensor_meta", None)


def _in_channels_last(value: torch.Tensor) -> torch.Tensor:
    return empty_in_dim_order(value.shape, _CHANNELS_LAST, value.dtype, value.device) if _is_image(value) else value
