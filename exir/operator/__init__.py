# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Facts about operators that their schemas tell: out variants, output arguments, views."""
