# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""The other process of demo_runtime.py: answers pickled requests with (True, result) or (False, message)."""

from __future__ import annotations

import importlib.util
import os
import pickle
import sys
from itertools import count
from typing import Any

import numpy

_EXTENSION = "executorch.extension.pybindings._portable_lib"


def use_extension(library: str) -> None:
    """Make the extension at this path the one that executorch.runtime finds."""
    spec = importlib.util.spec_from_file_location(_EXTENSION, library)
    if spec is None or spec.loader is None:
        raise ImportError(f"{library} is not a Python extension")
    sys.modules[_EXTENSION] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(sys.modules[_EXTENSION])


class Server:
    """Programs by number, with the methods that were run."""

    def __init__(self) -> None:
        from executorch.runtime import Runtime

        self._runtime = Runtime.get()
        self._numbers = count()
        self._programs: dict[int, Any] = {}
        self._methods: dict[tuple[int, str], Any] = {}

    def load(self, program: bytes, data: bytes | None) -> int:
        number = next(self._numbers)
        self._programs[number] = self._runtime.load_program(program, data_path=data)
        return number

    def run(self, number: int, method: str, inputs: list[Any]) -> list[Any]:
        key = number, method
        if key not in self._methods:
            self._methods[key] = self._programs[number].load_method(method)
        return [numpy.asarray(v) if hasattr(v, "shape") else v for v in self._methods[key].execute(inputs)]

    def unload(self, number: int) -> None:
        self._methods = {key: method for key, method in self._methods.items() if key[0] != number}
        del self._programs[number]

    def backends(self) -> list[str]:
        return list(self._runtime.backend_registry.registered_backend_names)


def main() -> None:
    # Redirect stdout, so that printed text does not mix with the answers.
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    use_extension(sys.argv[1])
    server = Server()
    while True:
        try:
            name, *arguments = pickle.load(sys.stdin.buffer)
        except EOFError:
            return
        try:
            answer = True, getattr(server, name)(*arguments)
        except Exception as error:  # noqa: BLE001 Whatever it is, the test's process shall see it.
            answer = False, f"{type(error).__name__}: {error}"
        pickle.dump(answer, answers)
        answers.flush()


if __name__ == "__main__":
    main()
