# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""What is drawn at random is the same in every run, so that a failure is found again by whoever looks at it.

For hypothesis, HYPOTHESIS_PROFILE=search draws others. Time is no matter of tests.
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
