# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""A program without a heap: export writes its memory needs to a header, from which the device defines its buffers.

python examples/static_memory/run.py [folder of an installed executorch]
"""

import subprocess
import sys
import tempfile
from pathlib import Path

import torch

import executorch.codegen
from executorch.export.command import main as export

HERE = Path(__file__).resolve().parent


def digits() -> tuple[torch.nn.Module, tuple[torch.Tensor]]:
    """Return a small network for images, whose first results exceed the fast memory, and its inputs."""
    torch.manual_seed(0)
    layers = torch.nn.Sequential(
        torch.nn.Conv2d(1, 8, 3, padding=1), torch.nn.ReLU(), torch.nn.AvgPool2d(2),
        torch.nn.Conv2d(8, 8, 3, padding=1), torch.nn.ReLU(), torch.nn.AvgPool2d(4),
        torch.nn.Flatten(), torch.nn.Linear(512, 10), torch.nn.Softmax(1),
    )  # fmt: skip
    return layers.eval(), (torch.ones(1, 1, 64, 64),)


def main(package: Path, folder: Path) -> Path:
    """Export and build in `folder`; return the program for the device."""
    program, header = folder / "digits.pte", folder / "digits_memory.h"
    # 64 KiB of fast memory become planned buffer 0, the rest is buffer 1.
    options = ["--fast-memory", "65536", "--memory-header", str(header), "--quiet"]
    assert export([f"{__file__}:digits", "-o", str(program), *options]) == 0
    configure = ["cmake", "-S", HERE, "-B", folder / "build", f"-DCMAKE_PREFIX_PATH={package}", f"-DPROGRAM={program}"]
    configure += [f"-DMEMORY_HEADER={header}", f"-DPython3_EXECUTABLE={sys.executable}"]
    subprocess.run(configure, check=True, stdout=subprocess.DEVNULL)
    subprocess.run(["cmake", "--build", folder / "build"], check=True, stdout=subprocess.DEVNULL)
    return folder / "build" / "run_static"


if __name__ == "__main__":
    package = Path(sys.argv[1] if len(sys.argv) > 1 else Path(executorch.codegen.__file__).parents[1]).resolve()
    with tempfile.TemporaryDirectory() as temporary:
        device = main(package, Path(temporary))
        done = subprocess.run([device, Path(temporary) / "digits.pte"], check=True, capture_output=True, text=True)
        numbers = torch.tensor([float(line) for line in done.stdout.split()])
        model, inputs = digits()
        torch.testing.assert_close(numbers, model(*inputs)[0], atol=1e-5, rtol=1e-4)
        print("device", numbers.tolist())
