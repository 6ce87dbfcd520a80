# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Parts of a program file that several stages build: tensor values and named data."""
