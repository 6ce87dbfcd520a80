# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""One workload, measured under the interpreter that runs this file; prints its figures as JSON.

The API is the same on both sides, so that this file measures us and the peer alike.
"""

import json
import resource
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import torch

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from models import make

Figures = dict[str, float]
# The peer's methods do not keep their programs alive.
_ALIVE: list[object] = []


def seconds(call: Callable[[], object], least: float = 0.5, most: int = 20_000) -> float:
    """The median time of a call, over about ``least`` seconds of calls after one warm-up."""
    call()
    times: list[float] = []
    while sum(times) < least and len(times) < most:
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def program_of(model: torch.nn.Module, inputs: tuple[torch.Tensor, ...]) -> bytes:
    """The module's portable program."""
    from executorch.exir import to_edge

    return to_edge(torch.export.export(model.eval(), inputs)).to_executorch().buffer


def method_of(program: bytes, folder: str) -> Callable[[list[torch.Tensor]], object]:
    """A callable that runs the program's forward."""
    from executorch.runtime import Runtime

    path = Path(folder) / f"program{len(_ALIVE)}.pte"
    path.write_bytes(program)
    loaded = Runtime.get().load_program(path)
    method = loaded.load_method("forward")
    _ALIVE.extend((loaded, method))
    return method.execute


class Adds(torch.nn.Module):
    """A chain of 100 additions that nothing can fold."""

    def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        for _ in range(100):
            x = x + y
        return x


class Wide(torch.nn.Module):
    """100 MB of weights."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = torch.nn.Sequential(*(torch.nn.Linear(1024, 1024, bias=False) for _ in range(25)))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.layers(x)


def calls(folder: str) -> Figures:
    """Call overhead from Python: a tiny MLP and a chain of small additions."""
    model, inputs = make("mlp")
    mlp = method_of(program_of(model, inputs), folder)
    pair = (torch.randn(16), torch.randn(16))
    adds = method_of(program_of(Adds(), pair), folder)
    return {"mlp call": seconds(lambda: mlp(list(inputs))), "100 adds": seconds(lambda: adds(list(pair)))}


def loading(folder: str) -> Figures:
    """Loading an MLP's program and method from a buffer."""
    from executorch.extension.pybindings.portable_lib import _load_for_executorch_from_buffer

    program = program_of(*make("mlp"))
    return {"load mlp from a buffer": seconds(lambda: _load_for_executorch_from_buffer(program))}


def lowering(folder: str) -> Figures:
    """Compiler time of ResNet-18 after torch.export."""
    from executorch.exir import to_edge

    exported = torch.export.export(*make("resnet18"))
    start = time.perf_counter()
    edge = to_edge(exported)
    middle = time.perf_counter()
    edge.to_executorch()
    return {"resnet18 to_edge": middle - start, "resnet18 to_executorch": time.perf_counter() - middle}


def serializing(folder: str) -> Figures:
    """Peak memory that lowering and writing a 100 MB model adds, over the model's size."""
    from executorch.exir import to_edge

    model, inputs = Wide().eval(), (torch.randn(1, 1024),)
    edge = to_edge(torch.export.export(model, inputs))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    program = edge.to_executorch()
    with (Path(folder) / "wide.pte").open("wb") as file:
        program.write_to_file(file)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    size = sum(p.numel() * 4 for p in model.parameters())
    return {"serializing 100 MB: added peak / size": (peak - before) * 1024 / size}


def model_time(name: str) -> Callable[[str], Figures]:
    """A model's time a call, and eager's in the same process, one thread."""

    def measure(folder: str) -> Figures:
        model, inputs = make(name)
        method = method_of(program_of(model, inputs), folder)
        with torch.no_grad():
            eager = seconds(lambda: model(*inputs), least=1.0)
        ours = seconds(lambda: method(list(inputs)), least=1.0)
        return {f"{name} call": ours, f"{name} call / eager": ours / eager}

    return measure


WORKLOADS: dict[str, Callable[[str], Figures]] = {
    "calls": calls,
    "loading": loading,
    "lowering": lowering,
    "serializing": serializing,
    "minilm": model_time("minilm"),
    "resnet18": model_time("resnet18"),
    "mobilenet_v2": model_time("mobilenet_v2"),
    "mobilenet_v3": model_time("mobilenet_v3"),
    "vit_tiny": model_time("vit_tiny"),
    "lstm": model_time("lstm"),
    "gru": model_time("gru"),
    "decoder": model_time("decoder"),
}

if __name__ == "__main__":
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as scratch:
        print(json.dumps(WORKLOADS[sys.argv[1]](scratch)))
