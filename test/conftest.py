# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""How hypothesis draws: the same examples in every run, so that a failure is found again by whoever looks at it.

HYPOTHESIS_PROFILE=search draws others. Time is no matter of tests.
"""

import os

import hypothesis

hypothesis.settings.register_profile("repeat", deadline=None, derandomize=True)
hypothesis.settings.register_profile("search", deadline=None)
hypothesis.settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "repeat"))
