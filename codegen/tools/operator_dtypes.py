# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Dtypes of operators as the command line states them: dtype names, or kernel keys ``v1/<dtype>;<dim order>|…``."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping

from executorch.codegen.dtypes import SCALAR_TYPE_CODES, SCALAR_TYPE_NAMES
from executorch.codegen.located_yaml import CodegenError
from executorch.codegen.schema import qualified

_KEY_PREFIX = "v1/"
_DTYPE_OF_CODE = {str(code): name for code, name in SCALAR_TYPE_NAMES.items()}


def read_operator_dtypes(text: str) -> Mapping[str, frozenset[str]]:
    """Read ``{"aten::add.out": ["Float", "v1/3;0,1|3;0,1"]}``: operator → dtypes, empty where the list is.

    The dim orders of kernel keys select nothing: kernels take every dim order. Raises ``CodegenError``.
    """
    try:
        document = json.loads(text)
    except ValueError as error:
        raise CodegenError(f"operators with dtypes: expected JSON: {error}") from error
    if not isinstance(document, dict):
        raise CodegenError(f"operators with dtypes: expected a JSON object, found {type(document).__name__}")
    operators: dict[str, frozenset[str]] = {}
    for name, entries in document.items():
        if qualified(name) in operators:
            raise CodegenError(f"operators with dtypes: {qualified(name)} stands twice")
        operators[qualified(name)] = frozenset(_dtypes(name, entries))
    return operators


def _dtypes(name: str, entries: object) -> Iterator[str]:
    if not isinstance(entries, list) or not all(isinstance(entry, str) for entry in entries):
        raise CodegenError(f"{name}: expected a list of dtypes or kernel keys, found {entries!r}")
    for entry in map(str.strip, entries):
        if entry in SCALAR_TYPE_CODES:
            yield entry
        elif entry.startswith(_KEY_PREFIX):
            for tensor in entry.removeprefix(_KEY_PREFIX).split("|"):
                yield _dtype_of(name, entry, tensor.partition(";")[0])
        else:
            raise CodegenError(f"{name}: unknown dtype {entry!r}; known: {', '.join(SCALAR_TYPE_CODES)}")


def _dtype_of(name: str, key: str, code: str) -> str:
    if code not in _DTYPE_OF_CODE:
        raise CodegenError(f"{name}: unknown dtype number {code!r} in {key!r}; expected v1/<dtype>;<dim order>|…")
    return _DTYPE_OF_CODE[code]
