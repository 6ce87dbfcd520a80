# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Planning algorithms: an offset for every tensor, a size for every arena."""
