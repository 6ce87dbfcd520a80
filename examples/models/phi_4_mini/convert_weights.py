# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Convert checkpoints of Phi-4-mini, by the table of names that all families share."""

from __future__ import annotations

from pathlib import Path

from executorch.examples.models.llama import convert_weights as llama
from executorch.examples.models.llama.convert_weights import main

__all__ = ["convert_weights", "main"]


def convert_weights(input_dir_or_checkpoint: str | Path, output_file: str | Path) -> None:
    """Convert a folder or a file of weights; only the name of the first parameter differs from the other families."""
    llama.convert_weights(input_dir_or_checkpoint, output_file)


if __name__ == "__main__":
    raise SystemExit(main())
