# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Settings of a program that change while its methods are loaded or run."""

import threading
from pathlib import Path

import numpy as np
import peer_programs

from executorch.extension.pybindings.portable_lib import _load_program

DATA = Path(__file__).parents[2] / "data"


def test_arenas_are_shared_once() -> None:
    program = _load_program(str(peer_programs.path("mlp_dynamic")))
    program.share_memory_arenas()
    method = program.load_method("forward")
    x = np.ones((2, 8), np.float32)
    expected = method([x])[0]
    for _ in range(3):
        program.share_memory_arenas()
        np.testing.assert_array_equal(method([x])[0], expected)


def test_options_may_change_while_a_method_is_loaded() -> None:
    program = _load_program(str(DATA / "xnnpack" / "quantized.pte"))
    options = {f"Backend{i}": {"option": "x" * 200} for i in range(6)}
    has_ended = threading.Event()

    def change() -> None:
        count = 10**9
        while not has_ended.is_set():
            count += 1
            program.use_backend_options({"XnnpackBackend": {"max_workspace_bytes": count}, **options})

    thread = threading.Thread(target=change)
    thread.start()
    try:
        for _ in range(300):
            program.load_method("forward")
    finally:
        has_ended.set()
        thread.join()
