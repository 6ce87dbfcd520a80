# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Depthwise convolutions match eager, and a point has the same result wherever in an image it is computed."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import torch
from oracle.models.xnnpack_runtime import needs_xnnpack
from oracle.tolerances import LAYER, NEAREST_HALF, ROUNDED_ONCE
from torch import nn
from torch.export import Dim

from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner
from executorch.exir import to_edge_transform_and_lower
from executorch.extension.pybindings import portable_lib
from executorch.runtime import Runtime

pytestmark = needs_xnnpack

MAX_SIZE = 40
# Channel counts: several vectors plus a remainder, less than one vector, and a count whose rows are computed together.
MANY, FEW, TOGETHER = 45, 7, 40
# Kernel, stride, padding, dilation: those that have a kernel of their own, and their neighbors.
WINDOWS = {
    "3x3": (3, 1, 1, 1),
    "3x3, no padding": (3, 1, 0, 1),
    "3x3, stride 2": (3, 2, 1, 1),
    "3x3, stride 1 and 2": (3, (1, 2), (2, 1), 1),
    "3x3, dilated": (3, 1, 2, 2),
    "5x5": (5, 1, 2, 1),
    "5x5, stride 2": (5, 2, (2, 1), 1),
    "5x5, stride 2 and 1": (5, (2, 1), (0, 3), 1),
    "5x5, stride 3": (5, 3, 2, 1),
    "4x5": ((4, 5), 1, 2, 1),
    "1x9, stride 3": ((1, 9), (1, 3), (0, 4), 1),
    "9x1": ((9, 1), 1, (4, 0), 1),
    "2x4": ((2, 4), 1, (1, 2), 1),
    "2x4, stride 3": ((2, 4), (1, 3), (1, 2), 1),
    "7x7": (7, 1, 3, 1),
    "7x7, stride 2 and 1": (7, (2, 1), (3, 0), 1),
    "6x5, dilated": ((6, 5), 1, 5, (2, 3)),
    "1x31": ((1, 31), 1, (0, 15), 1),
    "31x1, stride 3": ((31, 1), (3, 2), (15, 0), 1),
    "17x17": (17, 1, 8, 1),
}


def _model(channels: int, name: str) -> nn.Module:
    """The layer after a 1x1 convolution: a delegate of only the layer takes another kernel (test_dwconv_chw.py)."""
    kernel, stride, padding, dilation = WINDOWS[name]
    layer = nn.Conv2d(channels, channels, kernel, stride, padding, dilation, groups=channels)
    return nn.Sequential(nn.Conv2d(channels, channels, 1), layer, nn.Hardtanh(-0.9, 0.8)).eval()


def _lowered(model: nn.Module, image: torch.Tensor, sizes: dict[int, object] | None) -> bytes:
    exported = torch.export.export(model, (image,), dynamic_shapes=(sizes,) if sizes else None)
    return to_edge_transform_and_lower(exported, partitioner=[XnnpackPartitioner()]).to_executorch().buffer


@pytest.fixture
def set_threads() -> Iterator[Callable[[int], object]]:
    before = portable_lib._threadpool_get_thread_count()
    yield portable_lib._unsafe_reset_threadpool
    portable_lib._unsafe_reset_threadpool(before)


@pytest.mark.sampled
@pytest.mark.parametrize(
    ("name", "channels"),
    [
        *((name, MANY) for name in WINDOWS),
        *((name, FEW) for name in ("3x3", "5x5, stride 2", "7x7")),
        *((name, TOGETHER) for name in WINDOWS if name.startswith(("3x3", "5x5", "1x9"))),
    ],
)
def test_rows_of_any_length_match_eager(name: str, channels: int, set_threads: Callable[[int], object]) -> None:
    torch.manual_seed(0)
    model = _model(channels, name)
    sizes = {0: Dim("n", max=3), 2: Dim("h", min=9, max=MAX_SIZE), 3: Dim("w", min=9, max=MAX_SIZE)}
    program = Runtime.get().load_program(_lowered(model, torch.randn(2, channels, 20, 20), sizes))
    images = [torch.randn(n, channels, h, w) for n, h, w in ((2, 20, 20), (1, 9, MAX_SIZE), (3, 10, 9), (1, 12, 37))]
    expected = [model.double()(image.double()).float() for image in images]
    for threads in (1, 3):
        set_threads(threads)
        method = program.load_method("forward")
        for image, result in zip(images, expected, strict=True):
            torch.testing.assert_close(method.execute([image])[0], result, **LAYER)


@pytest.mark.sampled
@pytest.mark.parametrize("channels", [MANY, TOGETHER])
@pytest.mark.parametrize("name", ["3x3, no padding", "3x3, stride 2", "5x5", "5x5, stride 2", "7x7"])
def test_a_point_has_the_same_bits_at_any_position(name: str, channels: int) -> None:
    torch.manual_seed(0)
    model = _model(channels, name)
    stride = model[1].stride[1]
    model[1].padding = (0, 0)
    sizes = {2: Dim("h", min=9, max=MAX_SIZE), 3: Dim("w", min=9, max=MAX_SIZE)}
    image = torch.randn(1, channels, 26, MAX_SIZE)
    image[0, 3, 4, 11], image[0, 17, 2, 30] = torch.nan, torch.inf
    method = Runtime.get().load_program(_lowered(model, image, sizes)).load_method("forward")
    (whole,) = method.execute([image])
    whole = whole.clone()
    assert whole.isnan().any()
    for skipped in range(9):
        above = skipped % 5
        (output,) = method.execute([image[..., above * stride :, skipped * stride :].contiguous()])
        torch.testing.assert_close(output, whole[..., above:, skipped:], rtol=0, atol=0, equal_nan=True)


# With fewer points than a kernel tile, elements past the window are multiplied by zero.
@pytest.mark.parametrize(
    ("window", "stride", "padding"),
    [
        ((1, 1), (1, 2), (1, 0)),
        ((2, 7), 3, (0, 7)),
        ((4, 4), 1, 1),
        ((1, 2), 1, 0),
        ((5, 1), (2, 1), 0),
        ((5, 6), 2, 3),
    ],
)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float16])
def test_nan_and_infinity_stay_within_their_windows(
    window: int | tuple[int, int], stride: int | tuple[int, int], padding: int | tuple[int, int], dtype: torch.dtype
) -> None:
    torch.manual_seed(0)
    layer = nn.Conv2d(13, 13, window, stride, padding, groups=13)
    model = nn.Sequential(nn.Conv2d(13, 13, 1), layer).eval().to(dtype)
    image = torch.randn(2, 13, 10, 11).to(dtype)
    image[0, 0, 0, 0], image[1, 3, 6, 4] = torch.nan, torch.inf
    program = Runtime.get().load_program(_lowered(model, image, None))
    (found,) = program.load_method("forward").execute([image])
    expected = model(image)
    assert (found.isfinite() == expected.isfinite()).all()
    at = expected.isfinite()
    torch.testing.assert_close(found[at], expected[at], **ROUNDED_ONCE[dtype])


# Channels, and results of each: of few channels or of more results, XNNPACK computes products of matrices.
@pytest.mark.sampled
@pytest.mark.parametrize(("channels", "multiplier"), [(64, 2), (37, 3), (16, 8), (21, 5), (45, 2), (9, 2), (17, 9)])
@pytest.mark.parametrize("window", [1, 3, 7])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float16])
def test_a_channel_may_have_several_results(channels: int, multiplier: int, window: int, dtype: torch.dtype) -> None:
    torch.manual_seed(0)
    layer = nn.Conv2d(channels, channels * multiplier, window, (2, 1), window // 2, groups=channels)
    model = nn.Sequential(nn.Conv2d(channels, channels, 1), layer, nn.ReLU6()).eval().to(dtype)
    images = [torch.randn(n, channels, h, w).to(dtype) for n, h, w in ((2, 12, 10), (1, 9, 15), (3, 20, 9))]
    sizes = {0: Dim("n", max=3), 2: Dim("h", min=9, max=MAX_SIZE), 3: Dim("w", min=9, max=MAX_SIZE)}
    method = Runtime.get().load_program(_lowered(model, images[0], sizes)).load_method("forward")
    for image in images:
        expected = model.double()(image.double()).to(dtype)
        torch.testing.assert_close(method.execute([image])[0], expected, **ROUNDED_ONCE[dtype])


@pytest.mark.parametrize("name", WINDOWS)
def test_half_precision_is_summed_in_float32(name: str) -> None:
    torch.manual_seed(0)
    model = _model(MANY, name)[1:].half()
    image = torch.randn(2, MANY, 11, 23).half()
    (found,) = Runtime.get().load_program(_lowered(model, image, None)).load_method("forward").execute([image])
    expected = model.double()(image.double())
    torch.testing.assert_close(found.double(), expected, **NEAREST_HALF)


def test_programs_share_the_weights_of_large_windows(tmp_path: Path) -> None:
    """Packed for another kernel, they would differ, in memory and in the file that the next start maps."""
    torch.manual_seed(0)
    weight = torch.randn(32, 1, 7, 7)
    results = []
    for multiplier in (1, 2, 1, 2):
        layer = nn.Conv2d(32 // multiplier, 32, 7, groups=32 // multiplier, bias=False).eval()
        layer.weight.data = weight
        image = torch.randn(1, 32 // multiplier, 9, 12)
        content = _lowered(nn.Sequential(layer, nn.Sigmoid()), image, None)
        for options in ({}, {"XnnpackBackend": {"packed_cache_path": str(tmp_path / "weights")}}):
            method = Runtime.get().load_program(content, backend_options=options).load_method("forward")
            results.append((method.execute([image])[0].clone(), layer(image).sigmoid()))
    for found, expected in results:
        torch.testing.assert_close(found, expected)
