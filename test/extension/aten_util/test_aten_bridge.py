# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""aten_bridge.h in a program that links PyTorch and the built libraries."""

import subprocess
from pathlib import Path

import pytest
import torch
from compilers import COMPILER, cached

ROOT = Path(__file__).resolve().parents[3]
BUILD = ROOT / "build" / "editable"
LIBRARIES = [BUILD / "extension" / "libextension_tensor.a", BUILD / "runtime" / "libexecutorch_core.a"]
TORCH = Path(torch.__file__).parent


@pytest.mark.skipif(COMPILER is None, reason="no C++ compiler")
@pytest.mark.skipif(not all(library.is_file() for library in LIBRARIES), reason="the libraries are not built")
def test_portable_tensors_and_torch_tensors_share_memory(tmp_path: Path) -> None:
    (tmp_path / "executorch").symlink_to(ROOT)
    source, program = str(Path(__file__).with_name("aten_bridge.cpp")), tmp_path / "aten_bridge"
    compilation = [
        *(str(COMPILER), "-std=c++20", "-O0", "-c", source, "-o", "aten_bridge.o"),
        *("-I.", f"-isystem{TORCH}/include", f"-isystem{TORCH}/include/torch/csrc/api/include"),
        f"-D_GLIBCXX_USE_CXX11_ABI={int(torch.compiled_with_cxx11_abi())}",
    ]
    linking = [
        *(str(COMPILER), "aten_bridge.o", "-o", program.name, *map(str, LIBRARIES)),
        *(f"-L{TORCH}/lib", f"-Wl,-rpath,{TORCH}/lib", "-ltorch_cpu", "-lc10"),
    ]
    for command in (cached(compilation), linking):
        built = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
        assert built.returncode == 0, built.stderr
    assert subprocess.run([program]).returncode == 0
