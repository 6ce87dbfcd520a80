# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""The page of the pipeline's steps, read from the docstrings of the passes that they run."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from tables import code, plain, table

from executorch.exir import EdgeCompileConfig, ExecutorchBackendConfig
from executorch.exir.program import pipeline

_HEAD = """\
# Steps of the pipeline

Generated from the docstrings of the passes by `docs/_ext/pipeline_steps.py`. `exir/program/pipeline.py` gives the
reason for each position in the order. A step without an entry under "when it helps" is necessary. Results are equal to
the bit where nothing else is stated.

"""
# Options that add or replace steps.
OPTIONS: dict[str, Any] = {
    "fuse_quantized": True,
    "run_reinplace_pass": True,
    "remove_view_copy": True,
    "tune_for_optimized_kernels": True,
    "external_constants": True,
    "external_mutable_weights": True,
}
_LABEL = re.compile(r"^(Helps|Results): ", re.M)


def _parts(doc: str) -> tuple[str, dict[str, str]]:
    """Return a docstring's first paragraph, and the texts of its paragraphs with a label."""
    paragraphs = inspect.cleandoc(doc).split("\n\n")
    labels: dict[str, str] = {}
    for paragraph in paragraphs:
        _, *labelled = _LABEL.split(paragraph)
        labels |= dict(zip(labelled[::2], labelled[1::2], strict=True))
    return paragraphs[0], labels


def _row(step: Any, options: str) -> tuple[str, ...]:
    if not step.__doc__:
        raise ValueError(f"{step.__module__}.{step.__qualname__}: expected a docstring, found none")
    what, labels = _parts(step.__doc__)
    texts = [_prose(text) for text in (what, labels.get("Helps", ""), labels.get("Results", ""))]
    return code(step.__name__), *texts, code(options)


def _prose(text: str) -> str:
    """Return the text of a cell, with Markdown's characters outside code escaped, and without the last full stop."""
    parts = re.split(r"(`[^`]+`)", text.strip().removesuffix("."))
    return "".join(part if part.startswith("`") else plain(part) for part in parts)


def _merged(one: Sequence[Any], other: Sequence[Any]) -> list[Any]:
    """Return the steps of two lists in order; a step that only the second has follows its predecessor."""
    steps = list(one)
    names = [step.__qualname__ for step in steps]
    place = 0
    for step in other:
        if step.__qualname__ in names[place:]:
            place = names.index(step.__qualname__, place) + 1
        elif step.__qualname__ not in names:
            steps.insert(place, step)
            names.insert(place, step.__qualname__)
            place += 1
    return steps


def _steps_to_out_variants(**options: Any) -> list[Any]:
    config = ExecutorchBackendConfig(**{**dict.fromkeys(OPTIONS, False), **options})
    return list(pipeline.steps_to_out_variants(config, "forward"))


def _option_of(step: Any) -> str:
    """Return the option that a step needs, "" for a step of every program."""
    if step.__qualname__ in _names():
        return ""
    return next(name for name, value in OPTIONS.items() if step.__qualname__ in _names(**{name: value}))


def _names(**options: Any) -> list[str]:
    return [step.__qualname__ for step in _steps_to_out_variants(**options)]


def _rows(steps: Iterable[Any], option_of: Callable[[Any], str]) -> str:
    """Return the table of steps, without columns that are empty in all of them."""
    head = ("step", "what it does", "when it helps", "results", "option")
    rows = [_row(step, option_of(step)) for step in steps]
    columns = [column for column in zip(head, *rows, strict=True) if any(column[1:])]
    names, *filled = zip(*columns, strict=True)
    return table(names, filled)


def page() -> str:
    """Return the page."""
    to_edge = pipeline.steps_to_edge(EdgeCompileConfig())
    within = {name: value for name, value in OPTIONS.items() if not name.startswith("external_")}
    to_out = _merged(_steps_to_out_variants(**within), _steps_to_out_variants(**OPTIONS))
    return (
        f"{_HEAD}## From Core ATen to the Edge dialect\n\n{_rows(to_edge, lambda step: '')}\n"
        f"## From the Edge dialect to out variants\n\n{_rows(to_out, _option_of)}"
    )
