# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""The header with the memory needs of a program, and a device with exactly this memory."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
import torch

from executorch.exir import EdgeCompileConfig, ExecutorchBackendConfig, to_edge
from executorch.exir.error import ExportError
from executorch.exir.memory_planning import MemoryHierarchy
from executorch.exir.passes import MemoryPlanningPass
from executorch.export.memory_header import memory_header
from executorch.runtime import Runtime


def lower(model: torch.nn.Module, inputs: tuple[Any, ...], **config: Any) -> Any:
    edge = to_edge(torch.export.export(model.eval(), inputs), compile_config=EdgeCompileConfig())
    return edge.to_executorch(ExecutorchBackendConfig(**config))


def sizes_in(header: str) -> dict[str, int]:
    return {name: int(size) for name, size in re.findall(r"^#define (\w+) (\d+)$", header, re.MULTILINE)}


def test_the_header_matches_the_runtime() -> None:
    planner = MemoryPlanningPass(MemoryHierarchy([64]))
    model = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.Softmax(1))
    manager = lower(model, (torch.randn(3, 8),), memory_planning_pass=planner)
    sizes = sizes_in(memory_header(manager, "my-net.2"))
    loaded = Runtime.get().load_program(manager.buffer).metadata("forward")
    prefix = "MY_NET_2_FORWARD_"
    assert sizes["MY_NET_2_PROGRAM_BYTES"] == len(manager.buffer)
    assert sizes[prefix + "METHOD_BYTES"] == loaded.method_allocator_size()
    planned = [sizes[f"{prefix}PLANNED_BYTES_{i}"] for i in range(sizes[prefix + "PLANNED_BUFFERS"])]
    assert planned == loaded.memory_planned_buffer_sizes() and planned[0] <= 64 < planned[1]
    assert (sizes[prefix + "INPUT_BYTES_0"], sizes[prefix + "OUTPUT_BYTES_0"]) == (3 * 8 * 4, 3 * 16 * 4)
    assert sizes[prefix + "TEMP_BYTES"] == manager.verdict.methods[0].temp_peak.bytes


class Filtered(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x[x > 0] * 2


class Branch(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.cond(x.sum() > 0, lambda y: y + 1, lambda y: torch.fft.rfft(y, dim=0).abs().sum(0) + y, (x,))


def test_a_memory_need_that_depends_on_data_is_an_error_with_the_reason() -> None:
    why = "method 'forward': its memory need is unknown: .*its sizes depend on data"
    with pytest.raises(ExportError, match=why):
        memory_header(lower(Filtered(), (torch.randn(8),)), "net")


def test_the_header_has_the_need_of_the_larger_branch() -> None:
    manager = lower(Branch(), (torch.randn(8, 4),))
    needed = sizes_in(memory_header(manager, "net"))["NET_FORWARD_TEMP_BYTES"]
    taken = []
    for sign in (1, -1):
        method = Runtime.get().load_program(manager.buffer).load_method("forward", threads=1)
        assert method is not None
        method.execute([sign * torch.ones(8, 4)])
        taken.append(method.temp_memory_peak())
    assert taken[0] < taken[1] == needed


def test_it_compiles_as_c(tmp_path: Path) -> None:
    header = tmp_path / "net.h"
    header.write_text(memory_header(lower(torch.nn.ReLU(), (torch.randn(4),)), "net"))
    (tmp_path / "net.c").write_text('#include "net.h"\nstatic char arena[NET_FORWARD_PLANNED_BYTES_0];\n' * 2)
    subprocess.run(["cc", "-std=c99", "-fsyntax-only", "-Wall", tmp_path / "net.c"], check=True)
