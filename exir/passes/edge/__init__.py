# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""ATen operators become edge operators: dtypes, scalars, dim orders and debug handles."""
