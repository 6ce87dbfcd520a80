# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Tables that follow from the built kernels: the dtypes that each takes, and the source of each."""
