# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Time kernels against eager torch on one thread, both in this run.

``python test/benchmark/kernels.py [GROUP ...]``: groups are matmul, few_rows, convolution, normalize, pointwise, pool,
elements (pointwise, reducing, copying and softmax operators on 1M elements).
``EXECUTORCH_KERNEL_ENTRY`` names the library with the kernels (default: the newest build's).
"""

import argparse
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import torch
from tabulate import tabulate
from tqdm import tqdm

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
sys.path.insert(0, str(Path(__file__).resolve().parent))
from operator_cases import Case, applied, best, functional_of, operator_cases, room_for_outputs
from oracle.kernels.kernel_entry import prepare_kernel

R, TURNS = torch.randn, 4


def matmul() -> Iterator[Case]:
    """The products of MiniLM, of attention and of recurrent layers."""
    yield "addmm 128x384x384", "aten::addmm.out", (R(384), R(128, 384), R(384, 384))
    yield "addmm 128x384x1536", "aten::addmm.out", (R(1536), R(128, 384), R(384, 1536))
    yield "addmm 128x1536x384", "aten::addmm.out", (R(384), R(128, 1536), R(1536, 384))
    yield "bmm 12x128x32x128", "aten::bmm.out", (R(12, 128, 32), R(12, 32, 128))
    yield "bmm 12x128x128x32", "aten::bmm.out", (R(12, 128, 128), R(12, 128, 32))
    yield "addmm 1x512x2048", "aten::addmm.out", (R(2048), R(1, 512), R(512, 2048))
    yield "mm 1x512x2048, weights transposed", "aten::mm.out", (R(1, 512), R(2048, 512).t())
    yield "mm 1024x1024x1024", "aten::mm.out", (R(1024, 1024), R(1024, 1024))


def few_rows() -> Iterator[Case]:
    """Products of 4 to 16 rows: the range in which packing the weights begins to pay."""
    for depth, columns in ((384, 384), (512, 2048), (2048, 512), (4096, 1024)):
        for rows in (4, 8, 12, 16):
            left = R(rows, depth)
            yield f"mm {rows}x{depth}x{columns}", "aten::mm.out", (left, R(depth, columns))
            label = f"mm {rows}x{depth}x{columns}, weights transposed"
            yield label, "aten::mm.out", (left, R(columns, depth).t())


# (input channels, output channels, kernel, size, stride, groups)
CONVOLUTIONS = [
    (3, 64, 7, 224, 2, 1), (64, 64, 3, 56, 1, 1), (128, 128, 3, 28, 1, 1), (256, 256, 3, 14, 1, 1),
    (512, 512, 3, 7, 1, 1), (64, 128, 3, 56, 2, 1), (64, 128, 1, 56, 2, 1), (96, 24, 1, 56, 1, 1),
    (960, 320, 1, 7, 1, 1), (144, 144, 3, 56, 1, 144), (96, 96, 3, 112, 2, 96), (960, 960, 3, 7, 1, 960),
    (240, 240, 5, 28, 1, 240), (128, 128, 3, 28, 1, 4),
]  # fmt: skip


def convolution() -> Iterator[Case]:
    """Layers of ResNet-18, MobileNetV2 and V3, in both memory formats; a transposed and a one-dimensional one."""
    name = "aten::convolution.out"
    for layout in (torch.contiguous_format, torch.channels_last):
        for inputs, outputs, kernel, size, stride, groups in CONVOLUTIONS:
            x = R(1, inputs, size, size).to(memory_format=layout)
            w = R(outputs, inputs // groups, kernel, kernel).to(memory_format=layout)
            label = f"{kernel}x{kernel} {inputs}-{outputs} at {size} /{stride} groups {groups}"
            label += " channels_last" if layout is torch.channels_last else ""
            yield label, name, (x, w, R(outputs), [stride] * 2, [kernel // 2] * 2, [1, 1], False, [0, 0], groups)
    transposed = ([2, 2], [1, 1], [1, 1], True, [0, 0], 1)
    yield "transposed 4x4 64-32 at 28 /2", name, (R(1, 64, 28, 28), R(64, 32, 4, 4), None, *transposed)
    yield "3 80-256 at 1000", name, (R(1, 80, 1000), R(256, 80, 3), None, [1], [1], [1], False, [0], 1)


def normalize() -> Iterator[Case]:
    """Softmax and norms."""
    image, channels = R(1, 64, 56, 56), [R(64), R(64), R(64), torch.rand(64) + 0.5]
    batch_norm = "aten::_native_batch_norm_legit_no_training.out"
    yield "softmax 12x128x128", "aten::_softmax.out", (R(12, 128, 128), -1, False)
    yield "softmax 12x128x128, dimension 1", "aten::_softmax.out", (R(12, 128, 128), 1, False)
    yield "log_softmax 1x32000", "aten::_log_softmax.out", (R(1, 32000), -1, False)
    yield "layer_norm 128x384", "aten::native_layer_norm.out", (R(128, 384), [384], R(384), R(384), 1e-5)
    yield "batch_norm 64x56x56", batch_norm, (image, *channels, 0.1, 1e-5)
    yield "group_norm 64x56x56", "aten::native_group_norm.out", (image, *channels[:2], 1, 64, 56 * 56, 8, 1e-5)


def pointwise() -> Iterator[Case]:
    """Elementary functions."""
    for name in ("gelu", "exp", "sigmoid", "tanh", "erf"):
        yield f"{name} 128x1536", f"aten::{name}.out", (R(128, 1536),)


def pool() -> Iterator[Case]:
    """Pooling, padding, resizing."""
    image = R(1, 64, 56, 56)
    large = R(1, 64, 112, 112)
    yield "max_pool2d 3/2 64x112x112", "aten::max_pool2d_with_indices.out", (large, [3, 3], [2, 2], [1, 1])
    yield "avg_pool2d 2 64x56x56", "aten::avg_pool2d.out", (image, [2, 2])
    yield "adaptive_avg_pool2d 512x7x7", "aten::_adaptive_avg_pool2d.out", (R(1, 512, 7, 7), [1, 1])
    yield "constant_pad 64x56x56", "aten::constant_pad_nd.out", (image, [1, 1, 1, 1])
    yield "reflection_pad 64x56x56", "aten::reflection_pad2d.out", (image, [1, 1, 1, 1])
    yield "nearest to 112", "aten::upsample_nearest2d.vec_out", (image, [112, 112], None)
    yield "bilinear to 112", "aten::upsample_bilinear2d.vec_out", (image, [112, 112], False, None)


def elements() -> Iterator[Case]:
    """Operators that pass over 1M elements."""
    return operator_cases(1024)


GROUPS: dict[str, Callable[[], Iterator[Case]]] = {
    f.__name__: f for f in (matmul, few_rows, convolution, normalize, pointwise, pool, elements)
}


def prepare(name: str, args: tuple[Any, ...]) -> Callable[[], Any]:
    """Return a call of our kernel. Raises ``RuntimeError`` if the kernel fails."""
    run = prepare_kernel(name, *args, out=room_for_outputs(name, args))
    if (call := run()).error:
        raise RuntimeError(f"{name}: {call.message}")
    return run


def measure(name: str, args: tuple[Any, ...]) -> tuple[float, float]:
    """Return seconds of our kernel and of eager, timed in turn. Raises ``RuntimeError`` if the kernel fails."""
    function, run = functional_of(name), prepare(name, args)
    turns = [(best(run, 5), best(lambda: applied(function, args), 5)) for _ in range(TURNS)]
    return min(ours for ours, _ in turns), min(eager for _, eager in turns)


def main() -> None:
    """Measure and print a row for each case."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("groups", nargs="*", default=list(GROUPS), help=", ".join(GROUPS))
    parser.add_argument("--only", default=[], nargs="+", help="measure the cases whose label contains one of these")
    options = parser.parse_args()
    torch.set_num_threads(1)
    rows = []
    cases = [case for group in options.groups for case in GROUPS[group]()]
    cases = [case for case in cases if not options.only or any(part in case[0] for part in options.only)]
    for label, name, args in tqdm(cases, unit="case"):
        ours, eager = measure(name, args)
        rows.append((label, ours * 1e6, eager * 1e6, ours / eager))
    print(
        tabulate(
            rows, headers=("kernel", "ours, us", "eager, us", "ours / eager"), floatfmt=(None, ".1f", ".1f", ".2f")
        )
    )


if __name__ == "__main__":
    main()
