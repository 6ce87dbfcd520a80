# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""A small model of two equal blocks, exported with an ETRecord and run with a trace."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import torch

from executorch.devtools import ETRecord
from executorch.exir import ExecutorchProgramManager, to_edge_transform_and_lower
from executorch.exir.backend.partitioner import Partitioner
from executorch.runtime import Runtime


class Block(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.lin = torch.nn.Linear(4, 4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.relu(self.lin(x)) + x


class TwoBlocks(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.one, self.two = Block(), Block()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.erf(self.two(torch.erf(self.one(x))))


@dataclass
class Recorded:
    """A recorded export and its runs.

    trace: path of an ETDump, whose values are in the file `debug`. times: path of an ETDump of other runs.
    """

    model: torch.nn.Module
    x: torch.Tensor
    program: ExecutorchProgramManager
    record: ETRecord
    trace: str
    debug: str
    times: str


def recorded(folder: Path, partitioner: list[Partitioner] | None = None, runs: int = 3) -> Recorded:
    torch.manual_seed(0)
    model, x = TwoBlocks().eval(), torch.randn(2, 4)
    exported = torch.export.export(model, (x,))
    program = to_edge_transform_and_lower(exported, partitioner=partitioner, generate_etrecord=True).to_executorch()
    record = program.get_etrecord()
    record.update_representative_inputs([x])
    trace, debug, times = (str(folder / name) for name in ("trace.etdp", "debug.bin", "times.etdp"))
    for path, values, room in ((trace, debug, 1 << 20), (times, None, 0)):
        loaded = Runtime.get().load_program(program.buffer, enable_etdump=True, debug_buffer_size=room)
        method = loaded.load_method("forward")
        assert method is not None
        for _ in range(runs):
            method.execute([x])
        loaded.write_etdump_result_to_file(path, values)
    return Recorded(model, x, program, record, trace, debug, times)
