# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Programs whose parts run at the same time, for ModuleAsyncTest, also under ThreadSanitizer:

    python test/concurrent_programs.py FOLDER
    cmake --build build/editable --target extension_module_test
    EXECUTORCH_CONCURRENT_PROGRAMS=FOLDER build/editable/test/extension_module_test --gtest_filter='ModuleAsync*'

It writes operators of many kinds, int8, control flow, delegates of XNNPACK's."""

import sys
from pathlib import Path

import torch
from torch import nn
from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e

from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner
from executorch.backends.xnnpack.quantizer.xnnpack_quantizer import XNNPACKQuantizer, get_symmetric_quantization_config
from executorch.exir import ExecutorchBackendConfig, to_edge_transform_and_lower
from executorch.exir.passes import MemoryPlanningPass


class Images(nn.Module):
    """Branches of convolutions, pooling, normalization and reductions."""

    def __init__(self) -> None:
        super().__init__()
        self.branches = nn.ModuleList(
            nn.Sequential(
                nn.Conv2d(3, 8, size, padding=size // 2), nn.BatchNorm2d(8), nn.ReLU(),
                nn.Conv2d(8, 8, 3, padding=1, groups=8), nn.Hardswish(),
                nn.MaxPool2d(2), nn.Flatten(), nn.Linear(512, 8),
            )
            for size in (1, 3, 5)
        )  # fmt: skip

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        parts = [branch(x) for branch in self.branches]
        return torch.cat(parts, 1).softmax(1), parts[0].amax(1), torch.stack(parts).sort(-1)[0]


class Words(nn.Module):
    """Attention beside recurrent layers, a condition, and reductions."""

    def __init__(self) -> None:
        super().__init__()
        self.attention = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)
        self.recurrent = nn.GRU(8, 6, batch_first=True)

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        chosen = torch.cond(x.sum() > 0, lambda x: x.sin().cumsum(1), lambda x: x.exp() + 1, (x,))
        return self.attention(x), self.recurrent(x)[0], chosen, (x @ x.transpose(1, 2)).logsumexp(-1)


class Wide(nn.Module):
    """Two branches whose parts are large enough to divide their work on the thread pool."""

    def __init__(self) -> None:
        super().__init__()
        self.branches = nn.ModuleList(
            nn.Sequential(nn.Linear(256, 256), nn.Sigmoid(), nn.Linear(256, 256), nn.Unflatten(1, (16, 4, 4)),
                          nn.Conv2d(16, 64, 3, padding=1)) for _ in range(2)
        )  # fmt: skip

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        return tuple(branch(x) for branch in self.branches)


def int8(model: nn.Module, x: torch.Tensor) -> nn.Module:
    prepared = prepare_pt2e(
        torch.export.export(model, (x,)).module(),
        XNNPACKQuantizer().set_global(get_symmetric_quantization_config(is_per_channel=True)),
    )
    prepared(x)
    return convert_pt2e(prepared)


def main(folder: Path) -> None:
    torch.manual_seed(0)
    image, words, rows = torch.randn(1, 3, 16, 16), torch.randn(2, 5, 8), torch.randn(32, 256)
    images = Images().eval()
    delegates = [XnnpackPartitioner(per_op_mode=True)]
    for name, model, x, partitioner in (
        ("images", images, image, None),
        ("images_int8", int8(images, image), image, None),
        ("images_delegated", images, image, delegates),
        ("images_int8_delegated", int8(images, image), image, delegates),
        ("words", Words().eval(), words, None),
        ("words_delegated", Words().eval(), words, delegates),
        ("wide_delegated", Wide().eval(), rows, delegates),
    ):
        edge = to_edge_transform_and_lower(torch.export.export(model, (x,)), partitioner=partitioner)
        planner = MemoryPlanningPass(concurrent=True)
        program = edge.to_executorch(ExecutorchBackendConfig(memory_planning_pass=planner))
        (folder / f"{name}.pte").write_bytes(program.buffer)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
