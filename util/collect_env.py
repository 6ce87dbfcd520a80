# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Façade: the documented report on the environment for an issue: `python -m executorch.util.collect_env`."""

from __future__ import annotations

from executorch.version import __version__, git_version


def get_pretty_env_info() -> str:
    """Return torch's report on processor, system, compilers and packages below this package's version."""
    from torch.utils import collect_env

    package = f"ExecuTorch version: {__version__}\nExecuTorch commit: {git_version or 'unknown'}"
    return f"{package}\n\n{collect_env.get_pretty_env_info()}"


def main() -> None:
    """Print the report."""
    print("Collecting environment information...")
    print(get_pretty_env_info())


if __name__ == "__main__":
    main()
