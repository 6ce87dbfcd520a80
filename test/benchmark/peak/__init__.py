# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""The time of bare multiply-add instructions, beside the engines of the benchmark."""
