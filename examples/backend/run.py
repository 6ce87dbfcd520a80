# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Lower a model to a custom backend, build the backend's runtime half, and run the program.

python examples/backend/run.py [folder of an installed executorch]
"""

import subprocess
import sys
import tempfile
from pathlib import Path

import torch

import executorch.codegen
from executorch.exir import to_edge_transform_and_lower
from executorch.exir.backend.utils import get_delegation_info

HERE = Path(__file__).resolve().parent
PACKAGE = Path(sys.argv[1] if len(sys.argv) > 1 else Path(executorch.codegen.__file__).parents[1]).resolve()
sys.path.insert(0, str(HERE))
from polynomial import PolynomialPartitioner  # noqa: E402 (in this folder)


class Model(torch.nn.Module):
    """``sin(x³ + x²)``: the backend computes the polynomial, a kernel the sine."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Compute float32 of any shape."""
        return torch.sin((x * x + x) * x)


x = torch.ones(1, 64)
edge = to_edge_transform_and_lower(torch.export.export(Model(), (x,)), partitioner=[PolynomialPartitioner()])
print(get_delegation_info(edge.exported_program().graph_module).get_summary())

with tempfile.TemporaryDirectory() as temporary:
    program, build = Path(temporary, "polynomial.pte"), Path(temporary, "build")
    edge.to_executorch().save(str(program))
    configure = ["cmake", "-S", HERE, "-B", build, f"-DCMAKE_PREFIX_PATH={PACKAGE}"]
    subprocess.run(configure, check=True, stdout=subprocess.DEVNULL)
    subprocess.run(["cmake", "--build", build], check=True, stdout=subprocess.DEVNULL)
    printed = subprocess.run([build / "run_polynomial", program], check=True, capture_output=True, text=True).stdout
    numbers = torch.tensor([float(line) for line in printed.split()])
    print("device", numbers[:4].tolist())
    torch.testing.assert_close(numbers, Model()(x).flatten()[: len(numbers)], atol=1e-6, rtol=1e-5)
