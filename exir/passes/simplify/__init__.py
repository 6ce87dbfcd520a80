# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Remove, merge or precompute calls without changing results."""
