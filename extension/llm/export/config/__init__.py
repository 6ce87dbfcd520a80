# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""The configuration of an export."""
