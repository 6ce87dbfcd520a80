# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Passes from the ATen dialect to the Edge dialect: dtypes, scalars, dim orders and debug handles."""
