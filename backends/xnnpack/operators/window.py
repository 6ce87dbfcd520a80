# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Operators over windows of images: pooling, means, resizing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

import torch
from torch.export import ExportedProgram
from torch.fx import Node

from executorch.backends.xnnpack.lowering.elements import per_tensor
from executorch.backends.xnnpack.lowering.facts import argument, is_static, rank
from executorch.backends.xnnpack.lowering.layout import CHANNELS_LAST, arranged
from executorch.backends.xnnpack.lowering.lowering import Lowering, reshape
from executorch.backends.xnnpack.lowering.quantization import Affine
from executorch.backends.xnnpack.operators.integers import if_alike
from executorch.backends.xnnpack.operators.reduction import image_mean
from executorch.backends.xnnpack.operators.rule import Rule
from executorch.backends.xnnpack.serialization import xnnpack_graph as g
from executorch.exir.error import Rejection

_ALIGN_CORNERS = 0x08  # XNNPACK's flag
_MAX_SHARES = 64 * 1024  # largest averaging matrix, in elements


def _pair(value: object, default: list[int]) -> list[int]:
    """Return (height, width) of an argument that may be one integer, or absent."""
    given = [value] if isinstance(value, int) else list(cast("list[int]", value or default))
    return given * 2 if len(given) == 1 else given


def _window(node: Node) -> tuple[list[int], list[int], list[int]]:
    kernel = _pair(node.args[1], [])
    return kernel, _pair(argument(node, 2, "stride"), kernel), _pair(argument(node, 3, "padding"), [0, 0])


def _refuse_window(node: Node) -> Rejection | None:
    kernel, stride, _ = _window(node)
    if rank(cast(Node, node.args[0])) != 4:
        return Rejection("its operand is not a batch of images (rank 4)")
    if kernel == [1, 1]:
        return Rejection("its window has a single element")
    if any(step > size for step, size in zip(stride, kernel, strict=True)):
        return Rejection(f"stride {stride} skips elements between windows of {kernel}")
    return None


def _ceil_padding(node: Node, dilation: list[int]) -> list[int] | None:
    """Return how far the last windows reach past the padded image with ceil_mode, below and to the right; None if its
    size is dynamic.
    """
    kernel, stride, padding = _window(node)
    position = 4 if "avg" in str(node.target) else 5
    if not argument(node, position, "ceil_mode", False):
        return [0, 0]
    sizes, results = (value.shape[-2:] for value in (cast(Node, node.args[0]).meta["val"], _first(node)))
    if not is_static([*sizes, *results]):
        return None
    parts = zip(sizes, results, kernel, stride, padding, dilation, strict=True)
    return [max(0, (outputs - 1) * s + (k - 1) * d + 1 - n - 2 * p) for n, outputs, k, s, p, d in parts]


def _refuse_rounding(node: Node, dilation: list[int]) -> Rejection | None:
    extra_padding, (kernel, _, padding) = _ceil_padding(node, dilation), _window(node)
    if extra_padding is None:
        return Rejection("ceil_mode is set and the size of its images is dynamic")
    if any(extra_padding) and dilation != [1, 1]:
        return Rejection("ceil_mode is set and its windows are dilated")
    far = any(p + more >= k for k, p, more in zip(kernel, padding, extra_padding, strict=True))
    return Rejection("ceil_mode is set and its windows reach too far past the image") if far else None


def _first(node: Node) -> torch.Tensor:
    value = node.meta["val"]
    return cast(torch.Tensor, value if isinstance(value, torch.Tensor) else value[0])


def _refuse_max(node: Node, program: ExportedProgram) -> Rejection | None:
    users = [user for user in node.users if "getitem" in str(user.target)]
    if any(user.args[1] != 0 and user.users for user in users):
        return Rejection("its indices are used")
    dilation = _pair(argument(node, 4, "dilation"), [1, 1])
    return _refuse_window(node) or _refuse_rounding(node, dilation) or _refuse_dilated(node, dilation)


def _refuse_dilated(node: Node, dilation: list[int]) -> Rejection | None:
    """Reject dilated windows that may have no element inside the image: XNNPACK reads their first one as padding."""
    kernel, _, padding = _window(node)
    sizes = cast(Node, node.args[0]).meta["val"].shape[-2:]
    for n, k, p, d in zip(sizes, kernel, padding, dilation, strict=True):
        if dilation != [1, 1] and (2 * p - (k - 1) * d - 1 >= p % d or (isinstance(n, int) and p % d and n < d)):
            return Rejection("it is dilated and a window may begin past the image")
    return None


def _max(low: Lowering, node: Node) -> None:
    kernel, stride, padding = _window(node)
    dilation = _pair(argument(node, 4, "dilation"), [1, 1])
    has_one_result = "with_indices" not in str(node.target)
    result = node if has_one_result else next(user for user in node.users if user.args[1] == 0)
    source = low.read(cast(Node, node.args[0]), CHANNELS_LAST)
    output = low.result(result, CHANNELS_LAST)
    _pool(low, g.MaxPooling2d, node, source, output, (kernel, stride, padding, dilation), _ceil_padding(node, dilation))


def _takes_single_elements(node: Node) -> bool:
    """Return whether the windows of an average pool have one element each and skip others."""
    kernel, stride, padding = _window(node)
    return kernel == [1, 1] and stride != [1, 1] and not any(padding) and argument(node, 6, "divisor_override") is None


def _refuse_average(node: Node, program: ExportedProgram) -> Rejection | None:
    if _takes_single_elements(node) and rank(cast(Node, node.args[0])) == 4:
        return _refuse_rounding(node, [1, 1])
    rejection = _refuse_window(node) or _refuse_rounding(node, [1, 1])
    counted = any(_window(node)[2]) and argument(node, 5, "count_include_pad", True)
    if (
        rejection is None
        and any(_ceil_padding(node, [1, 1]) or ())
        and (counted or argument(node, 6, "divisor_override"))
    ):
        return Rejection("ceil_mode is set and a window reaches past the padding that it counts")
    return rejection


def _average_on_integers(node: Node, result: Affine, program: ExportedProgram) -> bool:
    """Return whether padding counts as zeros, as in the convolution that computes the average."""
    counted = bool(argument(node, 5, "count_include_pad", True)) or argument(node, 6, "divisor_override") is not None
    fits = _ceil_padding(node, [1, 1]) == [0, 0] and (counted or not any(_window(node)[2]))
    return fits and _if_alike_int8(node, result, program)


def _if_alike_int8(node: Node, result: Affine, program: ExportedProgram) -> bool:
    return result.dtype == torch.int8 and if_alike(node, result, program)


def _means_of_integers(low: Lowering, node: Node, window: tuple[list[int], ...], count: int) -> None:
    """Average integers. XNNPACK does this only over whole images; for windows, a depthwise convolution with ones sums,
    and the scale of its filter divides by `count`.
    """
    source = cast(Node, node.args[0])
    (height, width), stride, padding = window
    operands = low.read(source, CHANNELS_LAST), low.result(node, CHANNELS_LAST)
    if [height, width] == list(source.meta["val"].shape[2:]) and count == height * width and not any(padding):
        low.add(image_mean(*operands), node)
        return
    channels = low.shape(node)[1]
    ones = torch.ones(1, height, width, channels, dtype=torch.int8)
    filters = low.writer.constant(ones, per_tensor(torch.int8, 1 / count, 0))
    low.add(
        _depthwise([*padding, *padding], [height, width], stride, channels, operands[0], filters, operands[1]), node
    )


def _depthwise(
    paddings: list[int],
    kernel: list[int],
    stride: list[int],
    channels: int,
    source: g.ValueId,
    filters: g.ValueId,
    output: g.ValueId,
) -> object:
    sizes = (*kernel, *stride, 1, 1, 1, 1, channels, 0, 0)
    return g.DepthwiseConv2d(*paddings, *sizes, source, filters, g.INVALID_ID, output)


def _average(low: Lowering, node: Node) -> None:
    kernel, stride, padding = _window(node)
    divisor = cast("int | None", argument(node, 6, "divisor_override"))
    if low.on_integers(node):
        _means_of_integers(low, node, (kernel, stride, padding), divisor or kernel[0] * kernel[1])
        return
    source = low.read(cast(Node, node.args[0]), CHANNELS_LAST)
    if _takes_single_elements(node):  # XNNPACK's pools cannot skip elements; its convolutions can
        channels = low.shape(node)[1]
        ones = low.writer.constant(torch.ones(1, 1, 1, channels))
        low.add(_depthwise([0, 0, 0, 0], kernel, stride, channels, source, ones, low.result(node, CHANNELS_LAST)), node)
        return
    # XNNPACK's mean ignores padding; counted zeros are therefore padded explicitly.
    if any(padding) and (argument(node, 5, "count_include_pad", True) or divisor is not None):
        around = [0, *padding, 0]
        bounds = low.shape(cast(Node, node.args[0]), CHANNELS_LAST)
        bounds = [size + 2 * more for size, more in zip(bounds, around, strict=True)]
        padded = low.writer.value(node.meta["val"].dtype, bounds)
        low.writer.node(g.StaticConstantPad(around, around, 0.0, source, padded), 0)
        source, padding = padded, [0, 0]
    if divisor is None:
        output, window = low.result(node, CHANNELS_LAST), (kernel, stride, padding, [1, 1])
        _pool(low, g.AvgPooling2d, node, source, output, window, _ceil_padding(node, [1, 1]))
        return
    mean = low.writer.value(node.meta["val"].dtype, low.shape(node, CHANNELS_LAST))
    _pool(low, g.AvgPooling2d, node, source, mean, (kernel, stride, padding, [1, 1]))
    factor = low.scalar(node, kernel[0] * kernel[1] / divisor)
    low.add(g.Multiply(mean, factor, low.result(node, CHANNELS_LAST)), node)


def _refuse_adaptive(node: Node, program: ExportedProgram) -> Rejection | None:
    source = cast(Node, node.args[0])
    if rank(source) != 4 or not is_static(source.meta["val"].shape[2:]):
        return Rejection("its operand is not a batch of images (rank 4) of static size")
    sizes, wanted = source.meta["val"].shape[2:], cast("list[int]", node.args[1])
    if not _is_even(sizes, wanted) and torch.Size([*sizes, *wanted]).numel() > _MAX_SHARES:
        return Rejection(
            f"{list(sizes)} are not multiples of {wanted}, and the averaging matrix has over {_MAX_SHARES} elements"
        )
    return Rejection("its window has a single element") if list(sizes) == list(wanted) else None


def _is_even(sizes: Sequence[int], wanted: Sequence[int]) -> bool:
    return all(size % parts == 0 for size, parts in zip(sizes, wanted, strict=True))


def _even_alike_int8(node: Node, result: Affine, program: ExportedProgram) -> bool:
    sizes = cast(Node, node.args[0]).meta["val"].shape[2:]
    return _is_even(sizes, cast("list[int]", node.args[1])) and _if_alike_int8(node, result, program)


def _shares(size: int, parts: int) -> torch.Tensor:
    """Return the weight of each element in the mean of each window, [parts, size]. Windows may overlap."""
    shares = torch.zeros(parts, size, dtype=torch.float64)
    for part in range(parts):
        first, last = part * size // parts, -(-(part + 1) * size // parts)
        shares[part, first:last] = 1 / (last - first)
    return shares


def _uneven(low: Lowering, node: Node, sizes: list[int], wanted: list[int]) -> None:
    """Multiply each image, as a row, by the weights of its elements in each mean."""
    batch, channels = low.shape(node)[:2]
    shares = torch.kron(*(_shares(size, parts) for size, parts in zip(sizes, wanted, strict=True)))
    area, means = torch.Size(sizes).numel(), torch.Size(wanted).numel()
    rows = low.reshaped(node, low.read(cast(Node, node.args[0])), [None, area], [batch * channels, area])
    filters = low.writer.constant(shares.to(node.meta["val"].dtype))
    output = low.writer.value(node.meta["val"].dtype, [batch * channels, means])
    low.add(g.FullyConnected(rows, filters, g.INVALID_ID, output), node)
    low.add(reshape(node.meta["val"].shape, output, low.result(node)), node)


def _adaptive(low: Lowering, node: Node) -> None:
    sizes, wanted = low.shape(cast(Node, node.args[0]))[2:], cast("list[int]", node.args[1])
    if not _is_even(sizes, wanted):
        _uneven(low, node, sizes, wanted)
        return
    kernel = [size // parts for size, parts in zip(sizes, wanted, strict=True)]
    if low.on_integers(node):
        _means_of_integers(low, node, (kernel, kernel, [0, 0]), kernel[0] * kernel[1])
        return
    source = low.read(cast(Node, node.args[0]), CHANNELS_LAST)
    window = (kernel, kernel, [0, 0], [1, 1])
    _pool(low, g.AvgPooling2d, node, source, low.result(node, CHANNELS_LAST), window)


def _pool(
    low: Lowering,
    kind: type,
    node: Node,
    source: g.ValueId,
    output: g.ValueId,
    window: tuple[list[int], ...],
    extra_padding: list[int] | None = None,
) -> None:
    """Emit a pool. extra_padding: below and to the right of the image."""
    kernel, stride, (vertical, horizontal), dilation = window
    below, right = extra_padding or (0, 0)
    paddings = (vertical, horizontal + right, vertical + below, horizontal)
    low.add(kind(*paddings, *kernel, *stride, *dilation, source, output), node)


def _refuse_resize(node: Node, program: ExportedProgram) -> Rejection | None:
    source, _, corners, factors = node.args
    sizes, wanted = cast(Node, source).meta["val"].shape[2:], node.meta["val"].shape[2:]
    if not is_static(wanted):
        return Rejection("the size of its result is dynamic")
    if corners or factors is None:
        return None
    if not is_static(sizes):
        return Rejection("the size of its images is dynamic")
    # XNNPACK uses the ratio of the sizes, PyTorch the factor: both agree only if the factor gives whole sizes.
    if any(old * factor != new for old, new, factor in zip(sizes, wanted, cast(list[float], factors), strict=True)):
        return Rejection(f"{list(sizes)} times {factors} are not the whole numbers {list(wanted)}")
    return None


def _resize(low: Lowering, node: Node) -> None:
    source = cast(Node, node.args[0])
    height, width = low.shape(node)[2:]
    flags = _ALIGN_CORNERS if node.args[2] else 0
    operands = low.read(source, CHANNELS_LAST), low.result(node, CHANNELS_LAST)
    low.add(g.StaticResizeBilinear2D(height, width, *operands, flags), node)


def _refuse_nearest(node: Node, program: ExportedProgram) -> Rejection | None:
    sizes, wanted = cast(Node, node.args[0]).meta["val"].shape[2:], node.meta["val"].shape[2:]
    if not is_static([*sizes, *wanted]):
        return Rejection("the size of its images is dynamic")
    if any(new % old for old, new in zip(sizes, wanted, strict=True)):
        return Rejection(f"{list(wanted)} are not multiples of {list(sizes)}")
    return None


def _nearest(low: Lowering, node: Node) -> None:
    """Repeat rows and columns by broadcasting against ones: multiplying by one changes no value."""
    source, elements = cast(Node, node.args[0]), low.elements(node)
    (batch, _, height, width), (_, channels, *wanted) = low.shape(source), low.shape(node)
    down, across = wanted[0] // height, wanted[1] // width
    bounds = [batch * height, 1, width, 1, channels]
    apart = low.reshaped(node, low.read(source, CHANNELS_LAST), [None, *bounds[1:]], bounds)
    ones = torch.ones(1, down, 1, across, 1, dtype=node.meta["val"].dtype)
    if elements.parameters is not None:
        ones, elements = ones.to(torch.int8), per_tensor(torch.int8, 1.0, 0)
    factors = low.writer.constant(ones, elements)
    repeated = low.step(node, g.Multiply, apart, factors, shape=[batch * height, down, width, across, channels])
    sizes = arranged(node.meta["val"].shape, CHANNELS_LAST)
    low.add(reshape(sizes, repeated, low.result(node, CHANNELS_LAST)), node)


RULES: dict[str, Rule] = {
    "max_pool2d.default": Rule(_max, _refuse_max, on_integers=if_alike),
    "max_pool2d_with_indices.default": Rule(_max, _refuse_max),
    "avg_pool2d.default": Rule(_average, _refuse_average, on_integers=_average_on_integers),
    "_adaptive_avg_pool2d.default": Rule(_adaptive, _refuse_adaptive, on_integers=_even_alike_int8),
    "upsample_nearest2d.vec": Rule(_nearest, _refuse_nearest, on_integers=_if_alike_int8),
    "upsample_bilinear2d.vec": Rule(_resize, _refuse_resize, on_integers=if_alike),
}
