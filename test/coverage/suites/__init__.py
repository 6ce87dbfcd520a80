# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""The suites, by name: each lists its cases without building them."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

from ..case import Case
from ..rule import Rule

sys.path.append(str(Path(__file__).resolve().parents[2]))  # where pytest finds the tests' models

from . import control_flow, functional, modules, timm_models, transformations, transformers_models

SUITES: dict[str, Callable[[Rule], Iterator[Case]]] = {
    "timm": timm_models.cases,
    "transformers": transformers_models.cases,
    "nn": modules.cases,
    "functional": functional.cases,
    "func": transformations.cases,
    "control_flow": control_flow.cases,
}
