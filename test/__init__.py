# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""The tests; a package, so that `python -m test.benchmark` finds this one and not the interpreter's own."""
