# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""`compare`: compare a model with a program lowered from it, operator by operator."""

from __future__ import annotations

import argparse
from dataclasses import fields

from executorch.devtools.command.arguments import Command, add_model, bar, load_model, read_program, tolerance

_DESCRIPTION = """\
Runs a model and a program lowered from it on the same inputs, and reports the first operator whose values differ:

  python -m executorch.devtools compare my_model.py:make model.pte
  python -m executorch.devtools compare my_model.py:make model.pte --inputs data.py:inputs --rtol 0.02

my_model.py:make returns (model, inputs), as for `python -m executorch.export`. The exit status is 1 if a value differs.
"""


def _add(parser: argparse.ArgumentParser) -> None:
    add_model(parser, required=True)
    parser.add_argument("program", metavar="FILE.pte", help="the program")
    parser.add_argument("--rtol", type=tolerance, default=1e-3, help="of the largest magnitude (default: 1e-3)")
    parser.add_argument("--atol", type=tolerance, default=1e-5, help="absolute tolerance (default: 1e-5)")
    shape = parser.add_mutually_exclusive_group()
    shape.add_argument("--tsv", action="store_true", help="print a tab-separated table, for spreadsheets")
    shape.add_argument("--json", action="store_true", help="print every operator as JSON")


def _run(options: argparse.Namespace) -> int:
    from executorch.devtools.comparison import OperatorGap, Step, compare

    data = read_program(options.program)
    user = load_model(options, data)
    assert user is not None
    with bar(total=len(Step)) as steps:

        def begin(step: Step) -> None:
            steps.set_description(step.value)
            steps.update(list(Step).index(step) - steps.n)

        comparison = compare(
            user.model,
            data,
            user.inputs,
            method=options.method,
            lower=user.lower,
            rtol=options.rtol,
            atol=options.atol,
            begin=begin,
        )
    if options.json:
        print(comparison.as_json())
    elif options.tsv:
        names = [field.name for field in fields(OperatorGap) if field.name != "sources"]
        print("\t".join(names))
        for operator in comparison.operators:
            print("\t".join(str(getattr(operator, name)) for name in names))
    else:
        print(comparison)
    return 1 if comparison.first is not None or comparison.outputs_differ else 0


COMPARE = Command("compare", "find the first operator whose values differ from the model's", _DESCRIPTION, _add, _run)
