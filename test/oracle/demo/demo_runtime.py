# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Programs executed by our Python runtime with the demo backends (test/backends), in a process of their own.

    with loaded(manager.buffer) as program:
        outputs = program.run("forward", x, y)

A process can load one extension of a name, and the process of the tests has loaded the installed one.
"""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import torch

_REPOSITORY = Path(__file__).resolve().parents[3]
_SERVER = Path(__file__).with_name("demo_server.py")


def library_path() -> Path:
    """``EXECUTORCH_DEMO_PYTHON``, or the newest ``demo_python.so`` of the builds in the repository."""
    if path := os.environ.get("EXECUTORCH_DEMO_PYTHON"):
        return Path(path)
    libraries = sorted(_REPOSITORY.glob("build/*/test/demo_python.so"), key=lambda p: p.stat().st_mtime)
    usable = [p for p in libraries if "sanitized" not in p.parts]
    if not usable:
        raise FileNotFoundError(
            "no build/*/test/demo_python.so: build with -DEXECUTORCH_BUILD_TESTS=ON -DEXECUTORCH_BUILD_PYBIND=ON"
        )
    return usable[-1]


class DemoProgram:
    """A program that is loaded in the other process."""

    def __init__(self, number: int) -> None:
        self._number = number

    def run(self, method: str, *inputs: Any) -> list[Any]:
        """Outputs of a method, loaded at its first call. Raises RuntimeError with the runtime's message."""
        given = [value.detach().numpy() if isinstance(value, torch.Tensor) else value for value in inputs]
        return [torch.tensor(v) if hasattr(v, "shape") else v for v in _request("run", self._number, method, given)]


@contextmanager
def loaded(program: bytes, data: bytes | None = None) -> Iterator[DemoProgram]:
    """Load a .pte file with the contents of a .ptd file. Raises RuntimeError with the runtime's message."""
    number = _request("load", bytes(program), data)
    try:
        yield DemoProgram(number)
    finally:
        _request("unload", number)


def backend_names() -> list[str]:
    """Names of the backends that are registered in the other process."""
    return list(_request("backends"))


@cache
def _server() -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, str(_SERVER), str(library_path())], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )


def _request(*request: Any) -> Any:
    server = _server()
    if server.stdin is None or server.stdout is None:
        raise RuntimeError("the demo runtime's process has no pipes")
    pickle.dump(request, server.stdin)
    server.stdin.flush()
    try:
        done, answer = pickle.load(server.stdout)
    except EOFError:
        raise RuntimeError(f"the demo runtime's process ended with {server.wait()}") from None
    if not done:
        raise RuntimeError(answer)
    return answer
