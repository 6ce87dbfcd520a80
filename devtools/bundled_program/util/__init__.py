# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Random test cases, and a small program with two methods, for tests of bundled programs."""
