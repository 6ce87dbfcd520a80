# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Random data are the same in every run, so that anybody can reproduce a failure.

With HYPOTHESIS_PROFILE=search, hypothesis draws other examples in every run. Tests have no time limits.
"""

import os

import hypothesis
import pytest
import torch

hypothesis.settings.register_profile("repeat", deadline=None, derandomize=True)
hypothesis.settings.register_profile("search", deadline=None)
hypothesis.settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "repeat"))


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup() -> None:
    """Before each test, whatever ran before it in this process."""
    torch.manual_seed(0)
