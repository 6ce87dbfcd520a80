# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""The four models of the benchmark MLPerf Tiny, with random weights."""
