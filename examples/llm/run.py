# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""A language model from PyTorch to tokens, in float32, 8 bits and 4 bits, beside eager PyTorch.

python examples/llm/run.py [seconds of training]    # trains a small decoder of bytes first
python examples/llm/run.py FOLDER                   # takes a local Hugging Face model
"""

import sys
import tempfile
from pathlib import Path

from measure import measure
from sources import open_hugging_face, train_bytes


def main(argument: str = "60") -> None:
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        is_folder = Path(argument).is_dir()
        measure(open_hugging_face(Path(argument)) if is_folder else train_bytes(float(argument), folder), folder)


if __name__ == "__main__":
    main(*sys.argv[1:2])
