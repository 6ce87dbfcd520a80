# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Audio front ends that are exported as separate programs."""
