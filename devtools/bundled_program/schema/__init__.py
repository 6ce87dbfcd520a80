# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Data model and layout of a `.bpte` file (identifier BP08)."""

from __future__ import annotations

from dataclasses import dataclass

from executorch.exir.schema import Bool as Bool
from executorch.exir.schema import Double as Double
from executorch.exir.schema import Int as Int
from executorch.exir.schema import ScalarType
from executorch.exir.serialize import tables as t

BUNDLED_PROGRAM_SCHEMA_VERSION = 2
"""ExecuTorch 1.4 writes this version. Versions 0 (our earlier files) and 1 have the same layout."""


@dataclass
class Tensor:
    """A tensor. data: dense elements; the last dimension of `dim_order` varies fastest."""

    scalar_type: ScalarType
    sizes: list[int]
    data: bytes
    dim_order: list[int]


@dataclass
class Value:
    """An input or expected output."""

    val: Tensor | Int | Bool | Double


@dataclass
class BundledMethodTestCase:
    """Inputs of one execution and the outputs that it must give, in the method's order."""

    inputs: list[Value]
    expected_outputs: list[Value]


@dataclass
class BundledMethodTestSuite:
    """The test cases of one method."""

    method_name: str
    test_cases: list[BundledMethodTestCase]


@dataclass
class BundledProgram:
    """The file. program: the bytes of the `.pte` file."""

    version: int
    method_test_suites: list[BundledMethodTestSuite]
    program: bytes


BUNDLED_PROGRAM = t.Format(
    b"BP08",
    {
        BundledProgram: (
            t.Field("version", t.U32),
            t.Field("method_test_suites", t.TableVector(BundledMethodTestSuite)),
            t.Field("program", t.Bytes(32)),
        ),
        BundledMethodTestSuite: (
            t.Field("method_name", t.String()),
            t.Field("test_cases", t.TableVector(BundledMethodTestCase)),
        ),
        BundledMethodTestCase: (
            t.Field("inputs", t.TableVector(Value)),
            t.Field("expected_outputs", t.TableVector(Value)),
        ),
        Value: (t.Field("val", t.Union("ValueUnion", (Tensor, Int, Bool, Double))),),
        Tensor: (
            t.Field("scalar_type", t.Enum(ScalarType)),
            t.Field("sizes", t.Vector(t.I32, t.MAX_RANK)),
            t.Field("data", t.Bytes(16)),
            t.Field("dim_order", t.Vector(t.U8, t.MAX_RANK)),
        ),
        Int: (t.Field("int_val", t.I64),),
        Bool: (t.Field("bool_val", t.BOOL),),
        Double: (t.Field("double_val", t.F64),),
    },
)
