# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Writes the small programs in `test/data/peer/` with the reference implementation's own compiler.

They test our runtime on files of another compiler. Run it in an environment that holds the
reference distribution (executorch 1.4) instead of ours:

    python test/data/make_peer_programs.py test/data/peer

The files are data and checked in; `expected.npz` beside them holds eager torch's inputs and outputs for
each method, keyed `<file>/<method>/<in|out>/<index>`, so that the tests need no torch.
"""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn
from torch.export import Dim, export

from executorch.devtools import BundledProgram
from executorch.devtools.bundled_program.config import MethodTestCase, MethodTestSuite
from executorch.devtools.bundled_program.serialize import serialize_from_bundled_program_to_flatbuffer
from executorch.exir import ExecutorchBackendConfig, to_edge
from executorch.exir.passes import MemoryPlanningPass

Methods = dict[str, Any]
Samples = dict[str, tuple[torch.Tensor, ...]]


class Add(nn.Module):
    def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return x + y


class Mlp(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 4))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.layers(x)


class Encoder(nn.Module):
    def __init__(self, shared: nn.Linear) -> None:
        super().__init__()
        self.shared = shared

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.relu(self.shared(x))


class Decoder(nn.Module):
    def __init__(self, shared: nn.Linear) -> None:
        super().__init__()
        self.shared = shared

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        return self.shared(x) * 2.0, x.sum(dim=1)


class Branch(nn.Module):
    def forward(self, positive: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
        return torch.cond(positive, lambda t: t + 1.0, lambda t: t * 2.0, (x,))


class Counter(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("total", torch.zeros(3))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.total.add_(x)
        return self.total * 1.0


class Conv(nn.Module):
    """The blocks of a mobile net, small: dense, depthwise and pointwise convolution, pool, classifier."""

    def __init__(self) -> None:
        super().__init__()
        self.stem = nn.Conv2d(3, 8, 3, stride=2, padding=1)
        self.depthwise = nn.Conv2d(8, 8, 3, padding=1, groups=8)
        self.pointwise = nn.Conv2d(8, 12, 1)
        self.head = nn.Linear(12, 5)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = torch.nn.functional.hardtanh(self.stem(x), 0.0, 6.0)
        x = self.pointwise(torch.relu(self.depthwise(x)))
        return torch.softmax(self.head(x.mean(dim=(2, 3))), dim=1)


class Dtypes(nn.Module):
    """Returns an input of each common dtype: tests every conversion between Python and runtime."""

    def forward(self, *tensors: torch.Tensor) -> tuple[torch.Tensor, ...]:
        return tuple(torch.cat([t, t]) for t in tensors)


DTYPES = (
    torch.float32, torch.float64, torch.float16, torch.bfloat16,
    torch.int8, torch.uint8, torch.int16, torch.int32, torch.int64, torch.bool,
)  # fmt: skip


def unplanned() -> ExecutorchBackendConfig:
    return ExecutorchBackendConfig(
        memory_planning_pass=MemoryPlanningPass(alloc_graph_input=False, alloc_graph_output=False)
    )


def single(module: nn.Module, args: tuple[torch.Tensor, ...], **options: Any) -> tuple[Methods, Samples, Any]:
    config = options.pop("config", None)
    return {"forward": (module, args, options)}, {"forward": args}, config


def channels_last() -> tuple[Methods, Samples, Any]:
    return single(Add(), tuple(torch.randn(1, 3, 4, 5).to(memory_format=torch.channels_last) for _ in range(2)))


def multi_method() -> tuple[Methods, Samples, Any]:
    shared = nn.Linear(6, 6)
    x = torch.randn(2, 6)
    return (
        {"encode": (Encoder(shared), (x,), {}), "decode": (Decoder(shared), (x,), {})},
        dict.fromkeys(("encode", "decode"), (x,)),
        None,
    )


PROGRAMS: dict[str, Callable[[], tuple[Methods, Samples, Any]]] = {
    "add": lambda: single(Add(), (torch.randn(2, 3), torch.randn(2, 3))),
    "add_unplanned": lambda: single(Add(), (torch.randn(2, 3), torch.randn(2, 3)), config=unplanned()),
    "add_channels_last": channels_last,
    "mlp_dynamic": lambda: single(Mlp(), (torch.randn(3, 8),), dynamic_shapes=({0: Dim("batch", min=1, max=16)},)),
    "multi_method": multi_method,
    "cond": lambda: single(Branch(), (torch.tensor(True), torch.randn(4))),
    "counter": lambda: single(Counter(), (torch.randn(3),)),
    "conv": lambda: single(Conv(), (torch.randn(1, 3, 16, 16),)),
    "dtypes": lambda: single(Dtypes(), tuple((torch.randn(4) * 3).to(d) for d in DTYPES)),
}


def as_numpy(tensor: torch.Tensor) -> np.ndarray:
    return tensor.detach().view(torch.uint16).numpy() if tensor.dtype == torch.bfloat16 else tensor.detach().numpy()


def add_bundle(samples: Samples) -> bytes:
    """`add` with two test cases; the second expects wrong outputs."""
    x, y = samples["forward"]
    cases = [MethodTestCase((x, y), (x + y,)), MethodTestCase((x, y), (x - y,))]
    program = to_edge(export(Add(), (x, y))).to_executorch()
    bundle = BundledProgram(program, [MethodTestSuite("forward", cases)])
    return serialize_from_bundled_program_to_flatbuffer(bundle)


def main(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    expected: dict[str, np.ndarray] = {}
    for name, make in PROGRAMS.items():
        torch.manual_seed(0)
        methods, samples, config = make()
        exported = {m: export(module.eval(), args, **options) for m, (module, args, options) in methods.items()}
        program = to_edge(exported).to_executorch(config)
        (folder / f"{name}.pte").write_bytes(program.buffer)
        if name == "add":
            (folder / "add.bpte").write_bytes(add_bundle(samples))
        for method, args in samples.items():
            outputs = methods[method][0](*args)
            outputs = outputs if isinstance(outputs, tuple) else (outputs,)
            for side, tensors in (("in", args), ("out", outputs)):
                for index, tensor in enumerate(tensors):
                    expected[f"{name}/{method}/{side}/{index}"] = as_numpy(tensor).copy()
    np.savez_compressed(folder / "expected.npz", **expected)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
