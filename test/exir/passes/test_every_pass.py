# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Every step of the pipeline on every kind of module: results and metadata."""

from pathlib import Path

import pytest
from models import make
from models.module_kinds import KINDS
from oracle.models.every_step import BACKEND, EDGE, assert_every_step_keeps, steps_before_out_variants, walk_steps
from torch.export import export

from executorch.exir import to_edge
from executorch.exir.program import pipeline
from executorch.exir.rewrite.program_copy import copy_program

# Passes of folders of the pipeline that need no test file: each is in the way of every program of the other tests.
TESTED_BY_ALL = {"aten_to_edge_pass", "functional_views_pass", "remove_graph_asserts_pass", "replace_sym_ops_pass"}


@pytest.mark.parametrize("what", KINDS)
def test_every_step_keeps_results_and_the_origin_of_nodes(what: str) -> None:
    assert_every_step_keeps(KINDS[what])


@pytest.mark.parametrize("name", ["mlp", "decoder"])
def test_every_step_keeps_the_results_of_a_real_model(name: str) -> None:
    model, inputs = make(name)
    edge = copy_program(to_edge(export(model, inputs)).exported_program())
    walk_steps(edge, inputs, steps_before_out_variants(), handles=True)


def test_every_pass_of_the_pipeline_has_a_test_file_of_its_name() -> None:
    steps = [*pipeline.steps_to_edge(EDGE), *pipeline.steps_to_out_variants(BACKEND, "forward")]
    modules = {step.__module__ for step in steps if step.__module__.startswith("executorch.exir.passes.")}
    folder = Path(__file__).parent
    missing = []
    for module in sorted(modules):
        *_, place, name = module.split(".")
        if not (folder / place / f"test_{name}.py").is_file() and name not in TESTED_BY_ALL:
            missing.append(f"{place}/test_{name}.py")
    assert not missing
