# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Programs planned parametric in shape, at several sizes: eager's numbers, and no more memory than the sizes need."""

import json
import random
import struct

import pytest
import torch
from oracle import peer
from oracle.tolerances import LAYERS
from torch import nn
from torch.export import Dim, export

from executorch.exir import ExecutorchBackendConfig, to_edge
from executorch.exir.emit.parametric import KEY_PREFIX
from executorch.exir.passes import MemoryPlanningPass
from executorch.runtime import Runtime
from executorch.runtime.errors import ExecuTorchError


class Pyramid(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Conv2d(3, 8, 3, padding=1), nn.Conv2d(8, 8, 3, padding=1, stride=2)
        self.last = nn.Conv2d(8, 4, 1)

    def forward(self, x):
        y = self.first(x).relu()
        z = self.second(y).sigmoid()
        return self.last(z) + 1, nn.functional.max_pool2d(y, 2), z.mean((2, 3))


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.qkv, self.out = nn.Linear(16, 48), nn.Linear(16, 16)

    def forward(self, x):
        q, k, v = self.qkv(x).view(1, -1, 3, 2, 8).permute(2, 0, 3, 1, 4).unbind(0)
        y = torch.softmax(q @ k.transpose(-1, -2), -1) @ v
        return self.out(y.transpose(1, 2).reshape(1, -1, 16))


class Branches(nn.Module):
    def forward(self, x, y):
        z = torch.cond(x.sum() > 0, lambda a: (a * 2).cumsum(0), lambda a: a - 1, (x,))
        return torch.cat([z, y, z * 3]), (x + 1).exp()


class Counter(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("seen", torch.zeros(4))

    def forward(self, x):
        self.seen.add_(x.sum(0))
        return x.exp() * self.seen


class Positive(nn.Module):
    def forward(self, x):
        return (x * 2).nonzero() + 1


class Twice(nn.Module):
    """Its input's size is twice a dimension, plus three."""

    def forward(self, x):
        return x[:-3].view(2, -1).softmax(1).flip(0) + 1


def _pyramid(h, w):
    return (torch.randn(1, 3, h, w),)


def _sequence(n):
    return (torch.randn(1, n, 16),)


def _pair(n, m):
    return torch.randn(n), torch.randn(m)


_H, _W, _N, _M = Dim("h", min=8, max=256), Dim("w", min=8, max=256), Dim("n", min=2, max=200), Dim("m", min=2, max=50)
CASES = {
    "convolutions": (Pyramid, _pyramid, ({2: _H, 3: _W},), [(16, 16), (9, 21), (256, 256), (8, 8), (8, 200)]),
    "attention": (Attention, _sequence, ({1: _N},), [(7,), (200,), (2,), (33,)]),
    "branches": (Branches, _pair, ({0: _N}, {0: _M}), [(5, 3), (200, 50), (2, 2), (100, 50)]),
    "state": (Counter, lambda n: (torch.randn(n, 4),), ({0: _N},), [(5,), (200,), (2,), (5,)]),
    "data dependent": (Positive, lambda n: (torch.randn(n).relu(),), ({0: _N},), [(5,), (200,), (2,)]),
    "derived": (Twice, lambda n: (torch.randn(2 * n + 3),), ({0: 2 * _N + 3},), [(5,), (200,), (2,)]),
}


def _lower(case, **options):
    module, inputs, shapes, sizes = CASES[case]
    torch.manual_seed(0)
    exported = export(module().eval(), inputs(*sizes[0]), dynamic_shapes=shapes)
    planner = MemoryPlanningPass(**{"alloc_graph_input": False, "parametric": True, **options})
    return to_edge(exported).to_executorch(ExecutorchBackendConfig(memory_planning_pass=planner))


@pytest.mark.sampled
@pytest.mark.parametrize("planned_input", [False, True])
@pytest.mark.parametrize("case", CASES)
def test_every_size_gives_eager_results_and_the_small_ones_take_less(case, planned_input):
    module, inputs, _, sizes = CASES[case]
    program = _lower(case, alloc_graph_input=planned_input)
    method = Runtime.get().load_program(program.buffer).load_method("forward")
    limit = method.metadata.memory_planned_buffer_sizes()
    torch.manual_seed(0)
    eager, needs = module().eval(), {}
    for size in [*sizes, *sizes[:2]]:
        given = inputs(*size)
        expected = eager(*given)
        found = method.execute(given)
        for left, right in zip(found, expected if isinstance(expected, tuple) else (expected,), strict=True):
            torch.testing.assert_close(left, right, **LAYERS)
        needs[size] = method.memory_planned_buffer_sizes()[0]
    largest = max(sizes, key=lambda size: size[0])
    assert needs[largest] <= limit[0]
    smallest = min(sizes, key=lambda size: size[0])
    assert needs[smallest] < limit[0] / (4 if case != "data dependent" else 1)


def test_the_need_grows_with_the_product_of_the_sizes():
    program = _lower("convolutions")
    plan = program.exported_program().graph_module.meta["parametric_plan"]
    needs = {size: plan.need({(0, 2): size, (0, 3): size}) for size in (8, 64, 256)}
    assert needs[256] == program.executorch_program.execution_plan[0].non_const_buffer_sizes[1]
    assert needs[64] <= needs[256] / 15
    assert needs[8] <= needs[64] / 50


def test_inputs_outside_of_the_declared_bounds_are_refused():
    method = Runtime.get().load_program(_lower("convolutions").buffer).load_method("forward")
    with pytest.raises(ExecuTorchError):
        method.execute(_pyramid(257, 8))
    assert len(method.execute(_pyramid(16, 8))) == 3


def test_without_dynamic_sizes_there_is_no_second_plan():
    planner = MemoryPlanningPass(parametric=True)
    edge = to_edge(export(Pyramid().eval(), _pyramid(16, 16)))
    program = edge.to_executorch(ExecutorchBackendConfig(memory_planning_pass=planner))
    assert KEY_PREFIX.encode() not in program.buffer


def test_damaged_plans_are_refused_or_stay_within_their_memory():
    """The runtime must not crash, whatever the words are; what still runs stays within the limit."""
    program = _lower("attention")
    (words,) = program._emitter_output.plan_data.values()
    file = program.buffer
    start = file.index(words)
    chance = random.Random(1)
    refused = 0
    for _ in range(100):
        at = start + 4 * chance.randrange(len(words) // 4)
        changed = bytearray(file)
        number = chance.choice([0, 1, 2, chance.randrange(60), (1 << 31) - 1, (1 << 32) - 1, chance.getrandbits(32)])
        changed[at : at + 4] = struct.pack("<I", number)
        try:
            method = Runtime.get().load_program(bytes(changed)).load_method("forward")
            method.execute(_sequence(chance.randrange(2, 200)))
            assert method.memory_planned_buffer_sizes()[0] <= method.metadata.memory_planned_buffer_sizes()[0]
        except ExecuTorchError:
            refused += 1
    assert refused > 30


_PEER = """
import json, sys, torch
from executorch.runtime import Runtime
program = Runtime.get().load_program(sys.argv[1])
found = program.load_method("forward").execute([torch.load(sys.argv[2])])
print(json.dumps([tensor.tolist() for tensor in found]))
"""


@pytest.mark.skipif(not peer.is_installed(), reason=peer.MISSING)
def test_a_runtime_without_parametric_plans_runs_the_plan_for_the_largest_sizes(tmp_path):
    program = _lower("attention")
    program.save(str(tmp_path / "model.pte"))
    (x,) = _sequence(9)
    torch.save(x, tmp_path / "x.pt")
    printed = peer.run_script(_PEER, ["model.pte", "x.pt"], tmp_path)
    (theirs,) = json.loads(printed.splitlines()[-1])
    (ours,) = Runtime.get().load_program(program.buffer).load_method("forward").execute((x,))
    torch.testing.assert_close(ours, torch.tensor(theirs), **LAYERS)
