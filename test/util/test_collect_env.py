# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""The report on the environment."""

import pytest
import torch

from executorch.util import collect_env
from executorch.version import __version__


def test_the_report_names_the_versions_of_the_package_and_of_torch(capsys: pytest.CaptureFixture[str]) -> None:
    collect_env.main()
    text = capsys.readouterr().out
    assert f"ExecuTorch version: {__version__}" in text
    assert f"PyTorch version: {torch.__version__}" in text
