# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""A custom operator: a C++ kernel that eager PyTorch runs, and a program that calls it without PyTorch.

python examples/custom_operator/run.py [folder of an installed executorch]
"""

import subprocess
import sys
import tempfile
from pathlib import Path

import torch

import executorch.codegen
from executorch.exir import EdgeCompileConfig, ExecutorchBackendConfig, to_edge

HERE = Path(__file__).resolve().parent
PACKAGE = Path(sys.argv[1] if len(sys.argv) > 1 else Path(executorch.codegen.__file__).parents[1]).resolve()


def build(folder: Path, *options: str) -> None:
    """Configure and build this folder's CMakeLists.txt."""
    prefix = f"-DCMAKE_PREFIX_PATH={PACKAGE};{torch.utils.cmake_prefix_path}"
    python = f"-DPython3_EXECUTABLE={sys.executable}"
    subprocess.run(["cmake", "-S", HERE, "-B", folder, prefix, python, *options], check=True, stdout=subprocess.DEVNULL)
    subprocess.run(["cmake", "--build", folder], check=True, stdout=subprocess.DEVNULL)


class Model(torch.nn.Module):
    """``3 * x + 1``, with the product computed by the operator of mul3.cpp."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Compute float32 of any shape."""
        return torch.ops.my_ops.mul3(x) + 1


with tempfile.TemporaryDirectory() as temporary:
    # Eager: the kernel is an operator of PyTorch. Export also needs its shape function.
    build(Path(temporary) / "eager")
    torch.ops.load_library(Path(temporary) / "eager" / "libmul3_eager.so")
    torch.library.register_fake("my_ops::mul3")(torch.empty_like)
    x = torch.ones(1, 64)
    expected = Model()(x)
    out = torch.empty(1, 64)
    assert torch.ops.my_ops.mul3.out(x, out=out) is out and torch.equal(out, 3 * x)

    # Ahead of time: the operator becomes its out variant. The target check would fail: this package lacks the kernel.
    edge = to_edge(torch.export.export(Model(), (x,)), compile_config=EdgeCompileConfig(_check_ir_validity=False))
    program = Path(temporary) / "mul3.pte"
    program.write_bytes(edge.to_executorch(ExecutorchBackendConfig(check_target=False)).buffer)

    # Build the device's program with this kernel and only those of our kernels that the file uses.
    build(Path(temporary) / "device", f"-DPROGRAM={program}")
    printed = subprocess.run(
        [Path(temporary) / "device" / "run_mul3", program], check=True, capture_output=True, text=True
    )
    numbers = torch.tensor([float(line) for line in printed.stdout.split()])
    print("eager ", expected.flatten()[:4].tolist())
    print("device", numbers[:4].tolist())
    assert torch.equal(numbers, expected.flatten()[: len(numbers)])
