# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Partial updates of state are written in place, but only where no reader can see the difference."""

from typing import Any

import pytest
import torch
from oracle import peer
from oracle.models.pipeline import run
from torch import nn
from torch.export import export

from executorch.exir import ExecutorchBackendConfig, to_edge
from executorch.exir.dialects._ops import ops
from executorch.exir.passes.state.reinplace import WRITES_ITS_FIRST_ARGUMENT, reinplace_pass
from executorch.runtime import Runtime

K = torch.arange(8.0).reshape(1, 2, 1, 4)


class Cache(nn.Module):
    """Writes one position of a KV cache and attends to all of it."""

    def __init__(self, by: str) -> None:
        super().__init__()
        self.by = by
        self.register_buffer("cache", torch.zeros(1, 2, 16, 4))

    def forward(self, k: torch.Tensor, at: torch.Tensor) -> torch.Tensor:
        if self.by == "index_put":
            self.cache[:, :, at] = k
        elif self.by == "index_copy":
            self.cache.index_copy_(2, at, k)
        else:
            self.cache[:, :, 3:4] = k
        return (self.cache * k).sum((-1, -2)) + at


def manager_of(model: nn.Module, *inputs: Any, **options: Any) -> Any:
    return to_edge(export(model, inputs)).to_executorch(ExecutorchBackendConfig(**options))


def calls(manager: Any) -> list[str]:
    (plan,) = manager.executorch_program.execution_plan
    return [
        f"{plan.operators[i.instr_args.op_index].name}.{plan.operators[i.instr_args.op_index].overload}"
        for i in plan.chains[0].instructions
        if hasattr(i.instr_args, "op_index")
    ]


def assert_steps_like_eager(manager: Any, model: nn.Module) -> None:
    program = Runtime.get().load_program(manager.buffer)
    method = program.load_method("forward")
    for step in range(3):
        inputs = [K * (step + 1), torch.tensor([3 + step])]
        (output,) = method.execute(inputs)
        torch.testing.assert_close(output, model(*inputs))


@pytest.mark.parametrize(
    ("by", "operator"),
    [
        ("index_put", "aten::index_put.out"),
        ("index_copy", "aten::index_put.out"),
        ("slice", "aten::slice_scatter.out"),
    ],
)
def test_a_cache_is_written_in_place_and_not_copied(by: str, operator: str) -> None:
    inputs = (K, torch.tensor([3]))
    manager = manager_of(Cache(by), *inputs)
    targets = calls(manager)
    assert operator in targets and "aten::copy_." not in targets
    assert_steps_like_eager(manager, Cache(by))
    copying = manager_of(Cache(by), *inputs, run_reinplace_pass=False)
    assert "aten::copy_." in calls(copying)
    assert_steps_like_eager(copying, Cache(by))
    assert manager.memory_plans["forward"].size < copying.memory_plans["forward"].size


class ReadsOld(nn.Module):
    """Old values are read after the update, through a view in the second case, or are returned."""

    def __init__(self, how: str) -> None:
        super().__init__()
        self.how = how
        self.register_buffer("cache", torch.ones(4, 4))

    def forward(self, k: torch.Tensor, at: torch.Tensor) -> Any:
        old = self.cache.clone()
        shown = self.cache.reshape(2, 8)
        if self.how == "from itself":
            self.cache[at] = old[0:1] * 1
            return self.cache.sum() + k.sum()
        self.cache[at] = k
        if self.how == "later":
            return old * 2 + self.cache
        if self.how == "by a view":
            return shown.clone() @ torch.ones(8, 2) + self.cache.sum()
        return self.cache.sum(), self.cache.clone()


@pytest.mark.parametrize("how", ["later", "by a view", "from itself", "returned"])
def test_state_with_later_readers_is_not_overwritten(how: str) -> None:
    k, at = torch.full((1, 4), 7.0), torch.tensor([2])
    manager = manager_of(ReadsOld(how), k, at)
    method = Runtime.get().load_program(manager.buffer).load_method("forward")
    model = ReadsOld(how)
    for step in range(2):
        expected = torch.utils._pytree.tree_leaves(model(k + step, at + step))
        for found, wanted in zip(method.execute([k + step, at + step]), expected, strict=True):
            torch.testing.assert_close(found, wanted)


def test_inputs_and_constants_are_never_written() -> None:
    class Puts(nn.Module):
        def forward(self, x: torch.Tensor, at: torch.Tensor) -> torch.Tensor:
            return torch.index_put(x, (at,), torch.zeros(())) * 2

    inputs = (torch.ones(4), torch.tensor([1]))
    manager = manager_of(Puts(), *inputs)
    assert "aten::index_put.out" in calls(manager)
    torch.testing.assert_close(run(manager.buffer, inputs)[0], Puts()(*inputs))


def test_the_pass_is_public_and_reports_arguments_that_do_not_fit() -> None:
    edge = to_edge(export(Cache("index_put"), (K, torch.tensor([3])))).exported_program()
    assert reinplace_pass(edge) is edge
    assert any(WRITES_ITS_FIRST_ARGUMENT in node.meta for node in edge.graph.nodes)
    edge = to_edge(export(Cache("index_put"), (K, torch.tensor([3])))).exported_program()
    in_place = torch.ops.aten.index_put_.default
    reinplace_pass(edge, inplace_overrides={ops.edge.aten.index_put.default: in_place})
    assert any(node.target is in_place for node in edge.graph.nodes)
    with pytest.raises(ValueError, match="different arguments"):
        reinplace_pass(edge, inplace_overrides={ops.edge.aten.relu.default: torch.ops.aten.add_.Tensor})
    with pytest.raises(ValueError, match="write to its first"):
        reinplace_pass(edge, inplace_overrides={ops.edge.aten.relu.default: torch.ops.aten.abs.default})


def test_a_program_with_overrides_is_lowered_and_runs() -> None:
    inputs = (K, torch.tensor([3]))
    manager = to_edge(export(Cache("index_put"), inputs))
    edge = ops.edge.aten
    reinplace_pass(manager.exported_program(), inplace_overrides={edge.index_put.default: edge.index_put_.default})
    program = manager.to_executorch(ExecutorchBackendConfig(run_reinplace_pass=False))
    assert "aten::index_put_." in calls(program) and "aten::copy_." not in calls(program)
    assert_steps_like_eager(program, Cache("index_put"))


class Adds(nn.Module):
    """Adds to a temporary tensor, whose sizes the sum may exceed."""

    def forward(self, x: torch.Tensor, row: torch.Tensor) -> torch.Tensor:
        return torch.neg(torch.relu(row) + x)


@pytest.mark.parametrize(("sizes", "in_place"), [((1, 4), False), ((3, 4), True)])
def test_a_result_of_other_sizes_is_not_written_to_the_operand(sizes: tuple[int, int], in_place: bool) -> None:
    inputs = (torch.randn(3, 4), torch.randn(sizes))
    manager = to_edge(export(Adds(), inputs))
    program = reinplace_pass(manager.exported_program(), ops_to_inplace={ops.edge.aten.add.Tensor})
    assert any(WRITES_ITS_FIRST_ARGUMENT in node.meta for node in program.graph.nodes) is in_place
    buffer = manager.to_executorch(ExecutorchBackendConfig(run_reinplace_pass=False)).buffer
    torch.testing.assert_close(run(buffer, inputs)[0], Adds()(*inputs))


@pytest.mark.skipif(not peer.is_installed(), reason=peer.MISSING)
def test_the_peer_runs_what_is_written_in_place(tmp_path: Any) -> None:
    script = """
import sys, torch
from executorch.runtime import Runtime
program = Runtime.get().load_program(sys.argv[1]); method = program.load_method("forward")
k = torch.arange(8.0).reshape(1, 2, 1, 4)
calls = [[k * (s + 1), torch.tensor([3 + s])] for s in range(3)]
print([method.execute(call)[0].flatten().tolist() for call in calls])
"""
    for by in ("index_put", "slice"):
        path = tmp_path / f"{by}.pte"
        manager_of(Cache(by), K, torch.tensor([3])).save(str(path))
        model = Cache(by)
        expected = [model(K * (s + 1), torch.tensor([3 + s])).flatten().tolist() for s in range(3)]
        assert peer.run_script(script, [path], tmp_path).strip().splitlines()[-1] == str(expected)


class Shifted(nn.Module):
    """Moves rows of a result within the result: what is read and what is written overlap."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = x * 2
        y[1:3] = y[0:2].clone()
        y[3] = y[0:1].view(-1) + y[2]
        y[torch.tensor([1, 2])] = y[1:3].clone().view(2, -1)
        return y.sum(0)


def test_a_part_is_copied_before_the_rest_of_its_tensor_is_written() -> None:
    model, x = Shifted(), torch.arange(12.0).reshape(4, 3)
    method = Runtime.get().load_program(manager_of(model, x).buffer).load_method("forward")
    (output,) = method.execute((x,))
    torch.testing.assert_close(output, model(x))
