# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Rules by family of operators: whether XNNPACK computes a call, and its nodes. `table.py` joins the families."""
