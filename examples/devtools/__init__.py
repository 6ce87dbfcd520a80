# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Examples of the developer tools."""
