# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""What is changed in the sources of XNNPACK and its thread pool before they are built, and why."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple


class Change(NamedTuple):
    """A text of a file that is there once, and what takes its place."""

    file: str
    old: str
    new: str
    why: str


CHANGES = (
    Change(
        "xnnpack/src/memory-planner.c",
        "sizeof(struct memory_block) * num_values_to_alloc);",
        "sizeof(struct memory_block) * (num_values_to_alloc + 1));",
        "room for the block below",
    ),
    Change(
        "xnnpack/src/memory-planner.c",
        "size_t num_live_mem_blocks = 0;",
        "size_t num_live_mem_blocks = 1; current_live_mem_blocks[0].start = current_live_mem_blocks[0].end = 0;",
        "the gap below the first live block is never used, so that the scratch of a chain of layers piles up "
        "(ResNet-50: 44 MB, a few are needed); an empty block at the bottom makes it a gap like others",
    ),
    Change(
        "pthreadpool/src/threadpool-common.h",
        "#define PTHREADPOOL_SPIN_WAIT_ITERATIONS 1000000",
        "#define PTHREADPOOL_SPIN_WAIT_ITERATIONS 20000",
        "threads that wait spin for tens of milliseconds: on a machine with other work, two threads are then many "
        "times slower than one, and several pools starve each other. A fraction of one bridges what lies between "
        "operators",
    ),
)


class SourceChanged(RuntimeError):
    """A text to be changed is not where it was; the message says which."""


def change(sources: Path) -> None:
    """Makes the changes below `sources`. Raises SourceChanged where a text is not found exactly once."""
    for each in CHANGES:
        path = sources / each.file
        text = path.read_text()
        if text.count(each.old) != 1:
            raise SourceChanged(f"{each.file}: expected {each.old!r} once, found it {text.count(each.old)} times")
        path.write_text(text.replace(each.old, each.new))
