# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""The older command of `executorch.extension.llm.export.export_llm`: its options are fields of LlmConfig.

Options whose help says *refused* end the command with a message: this project does not support them.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from enum import Enum
from typing import Any

from executorch.extension.llm.export.config.llm_config import LlmConfig
from executorch.extension.llm.export.config.older_options import OLDER_OPTIONS
from executorch.extension.llm.export.export_llm import run_command


def build_args_parser() -> argparse.ArgumentParser:
    """Return the parser of the command's options."""
    parser = argparse.ArgumentParser(
        prog="python -m executorch.examples.models.llama.export_llama",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    for option in OLDER_OPTIONS:
        hint, default = LlmConfig.field_of(option.field)
        parser.add_argument(
            *option.names, dest=option.destination, default=default, help=option.help, **_reading(hint, default)
        )
    return parser


def _reading(hint: Any, default: Any) -> dict[str, Any]:
    """Return the argparse settings that read a value of the field's type."""
    if hint is bool:
        return {"action": "store_false" if default else "store_true"}
    if hint == list[int]:
        return {"type": lambda text: [int(part) for part in text.strip("[]").split(",")], "metavar": "SIZE,…"}
    if hint == list[str]:
        return {"nargs": "+"}
    if issubclass(hint, Enum):
        return {"choices": [choice.value for choice in hint]}
    return {"type": hint}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command. Return 0, or 1 after an error message."""
    options = build_args_parser().parse_args(arguments)
    return run_command("export_llama", lambda: LlmConfig.from_args(options))


if __name__ == "__main__":
    sys.exit(main())
