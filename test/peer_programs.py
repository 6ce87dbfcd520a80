# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""The checked-in programs of the reference implementation, with their inputs and eager torch's outputs."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np
import numpy.typing as npt

FOLDER = Path(__file__).parent / "data" / "peer"
Array = npt.NDArray[np.generic]


def path(name: str) -> Path:
    """The file of a program."""
    return FOLDER / f"{name}.pte"


@cache
def _expected() -> dict[str, Array]:
    with np.load(FOLDER / "expected.npz") as arrays:
        return dict(arrays)


def _side(name: str, method: str, side: str) -> list[Array]:
    prefix = f"{name}/{method}/{side}/"
    keys = sorted((key for key in _expected() if key.startswith(prefix)), key=lambda key: int(key[len(prefix) :]))
    return [_expected()[key].copy() for key in keys]


def inputs(name: str, method: str = "forward") -> list[Array]:
    """The inputs, bfloat16 as uint16."""
    return _side(name, method, "in")


def outputs(name: str, method: str = "forward") -> list[Array]:
    """Eager torch's outputs, with bfloat16 as uint16."""
    return _side(name, method, "out")
