# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Solvers: a `Problem` of `exir/memory/problem.py` in, a `Solution` out. They do not depend on tensors or graphs."""
