# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Exports a language model.

python -m executorch.extension.llm.export.export_llm [--config config.yaml] [key=value …]

Keys are those of LlmConfig (extension/llm/export/config/llm_config.py): base.checkpoint=…, model.use_kv_cache=True.
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from executorch.extension.llm.export.config.llm_config import LlmConfig, LlmConfigError
from executorch.util.exit_code import exit_code

_MISSING = "exporting language models needs the packages hydra-core and omegaconf: pip install 'executorch[llm]'"


def read_config(arguments: Sequence[str]) -> LlmConfig:
    """Read the arguments of the command line: a YAML file, then overrides in hydra's form.

    Raises LlmConfigError, and OSError for a file that cannot be read.
    """
    try:
        from hydra.core.override_parser.overrides_parser import OverridesParser
        from hydra.errors import HydraException
        from omegaconf import OmegaConf
        from omegaconf.errors import OmegaConfBaseException
    except ImportError as error:
        raise LlmConfigError(_MISSING) from error
    file, overrides = _split(list(arguments))
    try:
        config: Any = OmegaConf.structured(LlmConfig)
        if file is not None:
            config = OmegaConf.merge(config, OmegaConf.load(file))
        for override in OverridesParser.create().parse_overrides(overrides):
            if override.is_delete() or override.key_or_group is None:
                raise LlmConfigError(f"{override.input_line}: expected key=value")
            given = override.value()
            for name in reversed(override.key_or_group.split(".")):
                given = {name: given}
            config = OmegaConf.merge(config, given)  # update() fails in sections that are None
        typed_config = OmegaConf.to_object(config)
    except (OmegaConfBaseException, HydraException) as error:
        raise LlmConfigError(str(error).partition("\n")[0]) from error
    assert isinstance(typed_config, LlmConfig)
    return typed_config


def _split(arguments: list[str]) -> tuple[Path | None, list[str]]:
    file = None
    overrides = []
    while arguments:
        argument = arguments.pop(0)
        if argument == "--config":
            if not arguments:
                raise LlmConfigError("--config: expected the path of a YAML file")
            file = Path(arguments.pop(0))
        elif argument.startswith("--config="):
            file = Path(argument.partition("=")[2])
        else:
            # hydra's prefixes + and ++ add keys; every key of LlmConfig exists.
            overrides.append(argument.lstrip("+"))
    return file, overrides


def run_command(name: str, read: Callable[[], LlmConfig]) -> int:
    """Export by a configuration and print the path of the file; return 0, or 1 after a message on stderr."""
    from executorch.examples.models.llama.export_llama_lib import export_llama

    logging.basicConfig(level=logging.INFO, format="%(message)s")
    return exit_code(name, lambda: print(export_llama(read())))


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command. Return 0, or 1 after an error message."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    if any(argument in ("-h", "--help") for argument in given):
        print(__doc__)
        return 0
    return run_command("export_llm", lambda: read_config(given))


if __name__ == "__main__":
    sys.exit(main())
