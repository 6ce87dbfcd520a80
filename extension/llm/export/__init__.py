# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Export of language models. `LLMEdgeManager` is imported on first use: it needs torch."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from executorch.extension.llm.export.builder import LLMEdgeManager

__all__ = ["LLMEdgeManager"]


def __getattr__(name: str) -> Any:
    if name != "LLMEdgeManager":
        raise AttributeError(f"module {__name__!r} lacks {name!r}")
    from executorch.extension.llm.export.builder import LLMEdgeManager

    return LLMEdgeManager
