# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""DebugTools: functions of a backend with which the developer tools analyze its delegates."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from executorch.exir.scalar_type import ScalarType
from executorch.exir.schema import BytesLike

if TYPE_CHECKING:
    from executorch.exir.backend.partitioner import Partitioner

__all__ = ["DebugTools", "OpenedOutput"]


class OpenedOutput(Protocol):
    """Output of an opened delegate: kind and debug handle (0: none) of its operator, dtype, sizes, quantization."""

    @property
    def kind(self) -> str: ...
    @property
    def handle(self) -> int: ...
    @property
    def dtype(self) -> ScalarType: ...
    @property
    def sizes(self) -> tuple[int, ...]: ...
    @property
    def scale(self) -> float: ...
    @property
    def zero_point(self) -> int: ...


@dataclass(frozen=True)
class DebugTools:
    """Functions of one backend; None where it has none.

    open_payload: payload → the payload whose intermediate values are outputs too, and descriptions of all outputs, the
    original ones first. default_partitioner: makes the partitioner with which a model is lowered again.
    """

    open_payload: Callable[[BytesLike], tuple[bytes, Sequence[OpenedOutput]]] | None = None
    default_partitioner: Callable[[], Partitioner] | None = None
