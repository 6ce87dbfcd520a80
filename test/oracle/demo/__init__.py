# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""A demo backend, in a runtime of a process of its own."""
