# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""A program with weights in a separate file: one program, any number of trained variants."""

import tempfile
from pathlib import Path

import torch

from executorch.exir import ExecutorchBackendConfig, ExecutorchProgramManager, to_edge
from executorch.runtime import Runtime

x = (torch.randn(1, 64),)


def model(seed: int) -> torch.nn.Module:
    torch.manual_seed(seed)
    return torch.nn.Sequential(torch.nn.Linear(64, 128), torch.nn.ReLU(), torch.nn.Linear(128, 10)).eval()


def compiled(variant: torch.nn.Module) -> ExecutorchProgramManager:
    config = ExecutorchBackendConfig(external_constants=lambda node: "weights")
    return to_edge(torch.export.export(variant, x)).to_executorch(config)


with tempfile.TemporaryDirectory() as name:
    folder = Path(name)
    compiled(model(0)).save(str(folder / "mlp.pte"))
    print("program:", (folder / "mlp.pte").stat().st_size, "bytes, for all variants")
    for seed in range(3):
        variant = model(seed)
        compiled(variant).write_tensor_data_to_file(folder)
        weights = folder / "weights.ptd"
        program = Runtime.get().load_program(folder / "mlp.pte", data_path=weights.read_bytes())
        (out,) = program.load_method("forward").execute(x)
        torch.testing.assert_close(out, variant(*x))
        print(f"variant {seed}: {weights.stat().st_size} bytes of weights, agrees with eager")
