# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Compare two `.pte` files: `python -m executorch.devtools.pte_tool.diff_pte A.pte B.pte`."""

from executorch.devtools.pte_tool.diff_pte import diff_pte, format_diff_result
from executorch.devtools.pte_tool.differences import PTEDiffResult

__all__ = ["PTEDiffResult", "diff_pte", "format_diff_result"]
