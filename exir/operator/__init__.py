# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Properties of operators from their schemas: out variants, output arguments, views."""
