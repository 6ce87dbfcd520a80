# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Convolutions of dynamically quantized images: XNNPACK's results match those of the graph."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from oracle.models.xnnpack_runtime import needs_xnnpack
from oracle.tolerances import FEW_ROUNDINGS, ONE_ROUNDING, absolute, scaled
from quantization.flow import lowered_on_xnnpack, quantized, run, sqnr
from torch import nn
from torch.export import Dim, export

from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner
from executorch.backends.xnnpack.quantizer.xnnpack_quantizer import (
    NothingQuantizedError,
    XNNPACKQuantizer,
    get_symmetric_quantization_config,
)
from executorch.exir import to_edge_transform_and_lower
from executorch.runtime import Runtime

pytestmark = [needs_xnnpack, pytest.mark.filterwarnings("ignore::UserWarning:torchao.*", "ignore::DeprecationWarning")]

LAYERS: dict[str, Callable[[], nn.Module]] = {
    "padded": lambda: nn.Conv2d(3, 8, 3, padding=1),
    "pointwise": lambda: nn.Conv2d(3, 20, 1),
    "strided": lambda: nn.Conv2d(3, 10, 5, stride=(2, 1), padding=2),
    "dilated": lambda: nn.Conv2d(3, 5, 3, dilation=2, padding=3, bias=False),
    "beside a depthwise one": lambda: nn.Sequential(
        nn.Conv2d(3, 16, 3, 2, 1), nn.ReLU(), nn.Conv2d(16, 16, 3, 1, 1, groups=16), nn.ReLU6(), nn.Conv2d(16, 4, 1)
    ),
    "grouped": lambda: nn.Sequential(nn.Conv2d(3, 4, 1), nn.Conv2d(4, 6, 3, groups=2)),
    "transposed": lambda: nn.ConvTranspose2d(3, 8, 3),
    "transposed, strided": lambda: nn.ConvTranspose2d(3, 20, 3, stride=2, padding=1, output_padding=1),
    "transposed, dilated": lambda: nn.ConvTranspose2d(3, 5, 3, padding=2, dilation=2, bias=False),
    "transposed, strided and dilated": lambda: nn.ConvTranspose2d(
        3, 5, (3, 2), stride=(2, 3), padding=(0, 1), output_padding=(1, 2), dilation=(1, 2)
    ),
    "transposed, stride above the window": lambda: nn.ConvTranspose2d(3, 4, 2, stride=3),
    "transposed, clamped": lambda: nn.Sequential(nn.ConvTranspose2d(3, 6, 2, stride=2), nn.Hardtanh(-0.5, 0.25)),
}


def while_running(
    model: nn.Module, images: torch.Tensor, is_per_channel: bool = True, shapes: Any = None
) -> torch.fx.GraphModule:
    config = get_symmetric_quantization_config(is_per_channel=is_per_channel, is_dynamic=True)
    return quantized(model.eval(), XNNPACKQuantizer(strict=True).set_global(config), [(images,)], shapes=shapes)


def calls(program: torch.export.ExportedProgram) -> list[str]:
    return [str(node.target) for node in program.graph.nodes if node.op == "call_function"]


@pytest.mark.sampled
@pytest.mark.parametrize("is_per_channel", [True, False], ids=["per channel", "per tensor"])
@pytest.mark.parametrize("name", LAYERS)
def test_an_image_is_quantized_in_the_delegate(name: str, is_per_channel: bool) -> None:
    torch.manual_seed(0)
    images = torch.randn(1, 3, 15, 13) * 2 + 0.5
    model = LAYERS[name]()
    converted = while_running(model, images, is_per_channel)
    lowered = lowered_on_xnnpack(converted, (images,))
    assert len(calls(lowered.exported_program())) == 2
    output = run(lowered, (images,))
    # The float results of a layer differ in their last bits, so the next layer rounds some to a neighboring integer.
    assert sqnr(converted(images), output) > (55 if isinstance(model, nn.Sequential) else 100)
    assert sqnr(model(images), output) > 35


def test_each_image_of_a_batch_is_quantized_for_itself() -> None:
    torch.manual_seed(0)
    images = torch.randn(3, 3, 9, 9) * torch.tensor([1.0, 30, 0.1]).reshape(3, 1, 1, 1)
    model = LAYERS["padded"]()
    converted = while_running(model, images)
    output = run(lowered_on_xnnpack(converted, (images,)), (images,))
    for image, result in zip(images, output, strict=True):
        assert sqnr(model(image[None]), result[None]) > 35


@pytest.mark.parametrize("stride", [1, 2])
def test_a_grouped_transposed_convolution_takes_one_scale_of_weights(stride: int) -> None:
    torch.manual_seed(0)
    images = torch.randn(1, 4, 7, 6) + 0.5
    layer = nn.ConvTranspose2d(4, 6, 3, stride=stride, padding=1, groups=2)
    converted = while_running(layer, images, is_per_channel=False)
    lowered = lowered_on_xnnpack(converted, (images,))
    assert len(calls(lowered.exported_program())) == 2
    assert sqnr(converted(images), run(lowered, (images,))) > 100


@pytest.mark.parametrize("name", ["padded", "transposed, strided"])
@pytest.mark.parametrize("value", [0.0, -3.0, 1e-30, 1e30])
def test_constant_images(name: str, value: float) -> None:
    torch.manual_seed(0)
    images = torch.full((1, 3, 5, 5), value)
    converted = while_running(LAYERS[name](), images)
    output = run(lowered_on_xnnpack(converted, (images,)), (images,))
    torch.testing.assert_close(output, converted(images), **scaled(FEW_ROUNDINGS, max(1.0, abs(value))))


@pytest.mark.sampled
@pytest.mark.parametrize("name", ["padded", "transposed, strided"])
@pytest.mark.parametrize("dims", [(2,), (0,), (0, 2)], ids=["height", "number", "both"])
def test_number_and_sizes_of_images_may_vary(dims: tuple[int, ...], name: str) -> None:
    torch.manual_seed(0)
    largest = torch.randn(12, 3, 12, 9)
    shapes = ({dim: Dim(f"size_{dim}", min=1, max=12) for dim in dims},)
    model = LAYERS[name]()
    program = export(while_running(model, largest, shapes=shapes), (largest,), dynamic_shapes=shapes)
    lowered = to_edge_transform_and_lower(program, partitioner=[XnnpackPartitioner()])
    assert len(calls(lowered.exported_program())) == 2
    method = Runtime.get().load_program(lowered.to_executorch().buffer).load_method("forward")
    for number, height in ((12, 12), (1, 3), (7, 12), (2, 5), (12, 5), (12, 12)):
        images = torch.randn(number if 0 in dims else 12, 3, height if 2 in dims else 12, 9)
        # Their zero points, and so the zeros beside them, differ.
        images = images * torch.logspace(-2, 2, len(images)).reshape(-1, 1, 1, 1) + torch.randn(len(images), 1, 1, 1)
        output = torch.as_tensor(method.execute([images])[0])
        for image, result in zip(images, output, strict=True):
            assert sqnr(model(image[None]), result[None]) > 35


def test_a_program_of_executorch_with_quantized_images() -> None:
    """test/data/make_quantized_programs.py printed the expected results."""
    program = (Path(__file__).parents[1] / "data/xnnpack/quantized_images.pte").read_bytes()
    images = torch.linspace(-1, 1, 60).reshape(1, 3, 4, 5)
    found = torch.as_tensor(Runtime.get().load_program(program).load_method("forward").execute([images])[0])
    assert found.shape == (1, 2, 5, 7)
    first = [0.1144593, 0.2554849, 0.1168817, 0.2537575, 0.1196501, 0.2522839, 0.1220725]
    last = [-0.0317043, -0.0354381, -0.0287924, -0.0324059, -0.0262446, -0.0296936, -0.0236967]
    torch.testing.assert_close(found[0, 0, 0], torch.tensor(first), **absolute(ONE_ROUNDING))
    torch.testing.assert_close(found[0, 1, 4], torch.tensor(last), **absolute(ONE_ROUNDING))


@pytest.mark.parametrize(
    ("layer", "sizes", "why"),
    [
        (nn.Conv2d(4, 8, 3, groups=4), (1, 4, 5, 5), "does not support depthwise"),
        (nn.ConvTranspose2d(4, 6, 3, groups=2), (1, 4, 5, 5), "grouped transposed convolution per channel"),
        (nn.ConvTranspose1d(3, 4, 2), (1, 3, 5), "supports only 2-D"),
    ],
)
def test_other_convolutions_stay_in_float(layer: nn.Module, sizes: tuple[int, ...], why: str) -> None:
    with pytest.raises(NothingQuantizedError, match=why):
        while_running(layer, torch.randn(sizes))
