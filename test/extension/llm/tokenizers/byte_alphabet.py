# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""The characters that stand for bytes in a byte-level tokenizer.json."""

_PRINTABLE = (*range(33, 127), *range(161, 173), *range(174, 256))
_OTHERS = [byte for byte in range(256) if byte not in _PRINTABLE]
CHARACTERS = [chr(256 + _OTHERS.index(byte)) if byte in _OTHERS else chr(byte) for byte in range(256)]
"""Byte → character: printable bytes of Latin-1 stand for themselves, the others are numbered from 256."""
