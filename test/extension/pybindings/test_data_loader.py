# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Programs that a data loader of a user's own pybind11 module reads."""

import gc
import importlib.util
import subprocess
import sysconfig
from pathlib import Path
from types import ModuleType

import numpy as np
import peer_programs
import pytest
from compilers import COMPILER, cached

from executorch.extension.pybindings.data_loader import PyDataLoader
from executorch.extension.pybindings.portable_lib import _load_for_executorch_from_data_loader
from executorch.runtime.errors import InvalidArgumentError, InvalidProgramError

ROOT = Path(__file__).resolve().parents[3]
PROGRAM = Path(peer_programs.path("add")).read_bytes()


def hidden(program: bytes) -> bytes:
    return bytes(byte ^ 0x5A for byte in program)


@pytest.fixture(scope="module")
def memory_loader(tmp_path_factory: pytest.TempPathFactory) -> ModuleType:
    """Return the module of memory_loader.cpp."""
    pybind11 = pytest.importorskip("pybind11")
    if COMPILER is None:
        pytest.skip("no C++ compiler")
    folder = tmp_path_factory.mktemp("memory_loader")
    (folder / "executorch").symlink_to(ROOT)
    source = str(Path(__file__).with_name("memory_loader.cpp"))
    compilation = [
        *(str(COMPILER), "-std=c++17", "-O0", "-fPIC", "-fvisibility=hidden", "-c", source, "-o", "memory_loader.o"),
        *("-I.", f"-isystem{pybind11.get_include()}", f"-isystem{sysconfig.get_path('include')}"),
    ]
    # The library has the functions that the headers call (log messages).
    library = ROOT / "build" / "editable" / "runtime" / "libexecutorch_core.a"
    linking = [str(COMPILER), "-shared", "memory_loader.o", "-o", "memory_loader.so", str(library)]
    if not library.is_file():
        pytest.skip("the libraries are not built")
    for command in (cached(compilation), linking):
        built = subprocess.run(command, cwd=folder, capture_output=True, text=True)
        assert built.returncode == 0, built.stderr
    spec = importlib.util.spec_from_file_location("memory_loader", folder / "memory_loader.so")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_a_program_is_read_by_the_users_loader(memory_loader: ModuleType) -> None:
    loader = memory_loader.make(hidden(PROGRAM))
    assert isinstance(loader, PyDataLoader)
    module = _load_for_executorch_from_data_loader(loader, enable_etdump=True)
    x = np.ones((2, 3), np.float32)
    np.testing.assert_array_equal(module.forward([x, x])[0], x + x)
    assert module.has_etdump()


def test_the_program_keeps_the_loader_alive_and_then_releases_it(memory_loader: ModuleType) -> None:
    before = memory_loader.loaders()
    module = _load_for_executorch_from_data_loader(memory_loader.make(hidden(PROGRAM)))
    gc.collect()
    assert memory_loader.loaders() == before + 1
    x = np.ones((2, 3), np.float32)
    module.forward([x, x])
    del module
    gc.collect()
    assert memory_loader.loaders() == before


def test_one_loader_serves_several_programs(memory_loader: ModuleType) -> None:
    loader = memory_loader.make(hidden(PROGRAM))
    x = np.ones((2, 3), np.float32)
    for module in [_load_for_executorch_from_data_loader(loader) for _ in range(2)]:
        np.testing.assert_array_equal(module.forward([x, x])[0], x + x)


def test_what_the_loader_reads_is_verified(memory_loader: ModuleType) -> None:
    with pytest.raises(InvalidProgramError, match="a data loader"):
        _load_for_executorch_from_data_loader(memory_loader.make(PROGRAM))


def test_an_empty_loader_is_refused(memory_loader: ModuleType) -> None:
    with pytest.raises(InvalidArgumentError, match="loader"):
        _load_for_executorch_from_data_loader(memory_loader.make_empty())
