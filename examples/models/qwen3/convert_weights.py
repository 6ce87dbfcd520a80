# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Convert checkpoints of Qwen 3, by the table of names that all families share."""

from executorch.examples.models.llama.convert_weights import convert_weights, main

__all__ = ["convert_weights", "main"]

if __name__ == "__main__":
    raise SystemExit(main())
