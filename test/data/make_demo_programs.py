# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Writes the programs in `test/data/demo/`: ours, with delegates that the demo backend of the C++ tests runs.

    python test/data/make_demo_programs.py test/data/demo

Beside each `<name>.pte` lies `<name>.f32`: eager torch's inputs and then its outputs, little-endian float32, end to
end.
"""

import sys
from collections.abc import Callable
from pathlib import Path

import torch
from torch.export import Dim, export

from executorch.exir import to_edge_transform_and_lower
from executorch.exir.backend.canonical_partitioners.all_node_partitioner import AllNodePartitioner
from executorch.exir.backend.partitioner import Partitioner
from executorch.exir.backend.test.op_partitioner_demo import (
    AddAttributePartitionerDemo,
    AddMulPartitionerDemo,
    NonDecompTestPartitioner,
)
from executorch.test.models.delegated_modules import MatmulAddSub, Shifted


class Branches(torch.nn.Module):
    """Delegates inside both branches; two results."""

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        y = torch.cond(x.sum() > 0, lambda x: torch.mm(x, x) + x, lambda x: (x + x).sin(), (x,))
        return y, y - x


CASES: dict[str, tuple[Callable[[], torch.nn.Module], tuple[torch.Tensor, ...], Partitioner]] = {
    "matmul_add_sub": (MatmulAddSub, tuple(torch.randn(2, 2) for _ in range(3)), AddMulPartitionerDemo()),
    "shifted": (Shifted, (torch.randn(4, 3),), AddAttributePartitionerDemo()),
    "cond_true": (Branches, (torch.ones(2, 2),), AddMulPartitionerDemo()),
    "cond_false": (Branches, (-torch.ones(2, 2),), AddMulPartitionerDemo()),
    "whole": (
        MatmulAddSub,
        tuple(torch.randn(2, 2) for _ in range(3)),
        AllNodePartitioner("BackendWithCompilerDemo", []),
    ),
    "linear": (lambda: torch.nn.Linear(5, 3), (torch.randn(2, 5),), NonDecompTestPartitioner()),
    "not_supported": (
        lambda: torch.nn.UpsamplingNearest2d(scale_factor=2),
        (torch.randn(1, 1, 2, 2),),
        NonDecompTestPartitioner(),
    ),
}


def main(folder: Path) -> None:
    torch.manual_seed(0)
    folder.mkdir(parents=True, exist_ok=True)
    for name, (make, inputs, partitioner) in CASES.items():
        model = make().eval()
        lowered = to_edge_transform_and_lower(export(model, inputs, strict=True), partitioner=[partitioner])
        lowered.to_executorch().save(str(folder / f"{name}.pte"))
        with torch.no_grad():
            outputs = model(*inputs)
        _write_values(folder / f"{name}.f32", [*inputs, *(outputs if isinstance(outputs, tuple) else (outputs,))])

    rows = Dim("rows", min=1, max=6)
    shapes = {"x": {0: rows}}
    program = export(Shifted(), (torch.randn(4, 3),), dynamic_shapes=shapes, strict=True)
    lowered = to_edge_transform_and_lower(program, partitioner=[AddAttributePartitionerDemo()])
    lowered.to_executorch().save(str(folder / "dynamic.pte"))
    with torch.no_grad():
        x = torch.randn(2, 3)
        _write_values(folder / "dynamic.f32", [x, program.module()(x)])


def _write_values(path: Path, tensors: list[torch.Tensor]) -> None:
    path.write_bytes(b"".join(tensor.contiguous().numpy().astype("<f4").tobytes() for tensor in tensors))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
