# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""The command that measures model coverage: its records, its processes, its rules."""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch
from oracle.tolerances import COVERED
from torch import nn

from test.coverage.attempt import (
    MAX_SLACK,
    Ended,
    StableSorts,
    attempt,
    excusing_precision,
    excusing_rounding,
    slack_of_scales,
)
from test.coverage.case import Case, Example, FlatOutputs
from test.coverage.page import page
from test.coverage.peer import Peer
from test.coverage.processes import attempts
from test.coverage.record import Outcome, Record, Records
from test.coverage.rule import ODD, SMALL, Rule
from test.coverage.suites import SUITES
from test.coverage.suites.inputs import choices, unknown
from test.coverage.suites.shrink import Level, levels, shrunk
from test.coverage.ways import WAYS


def _record(name: str, outcome: Outcome, **values: object) -> Record:
    return Record("suite", name, "portable", outcome, **values)  # type: ignore[arg-type]


def test_records_survive_a_cut_line_and_the_last_attempt_counts(tmp_path: Path) -> None:
    records = Records(tmp_path / "results.jsonl")
    records.add(_record("a", Outcome.DIED))
    records.add(_record("a", Outcome.MATCHED, delegates=2, left={"aten::add.out": 1}))
    records.add(_record("b", Outcome.TIMED_OUT))
    with records.path.open("a") as file:
        file.write('{"suite": "suite", "name": "c"')
    Records(records.path).add(_record("b", Outcome.MATCHED))
    with records.path.open("a") as file:
        file.write('{"suite": "suite", "name": "c"{"suite": "suite"}\n')
    again = Records(records.path)
    assert [(one.name, one.outcome) for one in again] == [("a", Outcome.MATCHED), ("b", Outcome.MATCHED)]
    again.rewrite()
    lines = [json.loads(line) for line in records.path.read_text().splitlines()]
    assert lines[0]["left"] == {"aten::add.out": 1} and len(lines) == 2


def _matched(case: Case, way: str) -> Record:
    if case.name == "dies":
        os.kill(os.getpid(), signal.SIGKILL)
    if case.name == "hangs" and way == "portable":
        time.sleep(60)
    while case.name == "computes":
        pass
    return Record(case.suite, case.name, way, Outcome.MATCHED)


def test_a_case_that_dies_or_hangs_leaves_the_others_alone() -> None:
    cases = [Case("suite", name, lambda: Example(nn.ReLU(), ())) for name in ("dies", "hangs", "works")]
    work = [(case, ["portable", "xnnpack"]) for case in cases]
    found = {(one.name, one.way): one.outcome for one in attempts(work, _matched, 2, 3, patience=1)}
    assert found == {
        ("dies", "portable"): Outcome.DIED,
        ("dies", "xnnpack"): Outcome.DIED,
        ("hangs", "portable"): Outcome.TIMED_OUT,
        ("hangs", "xnnpack"): Outcome.MATCHED,
        ("works", "portable"): Outcome.MATCHED,
        ("works", "xnnpack"): Outcome.MATCHED,
    }


class _ExportedForever(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        while torch.compiler.is_exporting():
            pass
        return x + 1


def test_a_time_limit_that_torch_export_reaches_is_no_miss() -> None:
    case = Case("suite", "endless", lambda: Example(_ExportedForever(), (torch.ones(2),)))
    (record,) = attempts(
        [(case, ["portable"])], partial(attempt, on_exported=lambda *_: None), jobs=1, limit=2, patience=60
    )
    assert record.outcome is Outcome.UNEXPORTED
    assert record.message == "TimeoutError: torch.export was not done at the limit of processor time"


def test_the_limit_of_an_attempt_is_of_processor_time() -> None:
    work = [(Case("suite", "computes", lambda: Example(nn.ReLU(), ())), ["portable"])]
    (record,) = attempts(work, _matched, jobs=1, limit=1, patience=60)
    assert record.outcome is Outcome.TIMED_OUT and record.message == "not done after 1 s of processor time"


class _Twice(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x * 2


class _Changing(nn.Module):
    """Computes another result while it is exported."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x * (1.0 if torch.compiler.is_exporting() else 2.0)


@pytest.mark.sampled
@pytest.mark.parametrize("way", WAYS)
def test_every_way_runs_a_layer_and_matches_eager(way: str) -> None:
    def resized(size: int) -> tuple[tuple[torch.Tensor], dict[str, object]]:
        return (torch.randn(size, 8),), {}

    def make() -> Example:
        layer = nn.Sequential(nn.Linear(8, 8), nn.ReLU())
        return Example(layer, (torch.randn(2, 8),), batched=resized, lengthened=resized)

    record = attempt(Case("suite", "layer", make), way, lambda *_: None)
    assert record.outcome is Outcome.MATCHED, record.message
    assert (record.delegates, record.delegated) == ((0, 0.0) if way.startswith("portable") else (1, 1.0))


class _Named(nn.Module):
    def forward(self, *, x: torch.Tensor, double: bool) -> torch.Tensor:
        return x * (2 if double else 1)


def test_sizes_of_keyword_arguments_vary() -> None:
    def resized(size: int) -> tuple[tuple[()], dict[str, object]]:
        return (), {"x": torch.randn(size, 3), "double": True}

    def make() -> Example:
        return Example(FlatOutputs(_Named()), *resized(1), batched=resized)

    record = attempt(Case("suite", "named", make), "xnnpack_dynamic", lambda *_: None)
    assert record.outcome is Outcome.MATCHED, record.message


def test_a_program_that_pytorch_itself_runs_differently_is_torch_exports() -> None:
    record = attempt(
        Case("suite", "changing", lambda: Example(_Changing(), (torch.ones(3),))), "portable", lambda *_: None
    )
    assert record.outcome is Outcome.UNEXPORTED
    assert "PyTorch runs the exported program with an error of 0.5" in record.message


class _SignOfRounding(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.sign((x + 1e-9) - x)


class _SignOfDifference(nn.Module):
    """The sign of the difference from a limit, only in float32, as quantized operators."""

    def __init__(self, limit: float) -> None:
        super().__init__()
        self.limit = limit

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if x.dtype != torch.float32:
            raise NotImplementedError
        return torch.sign(x - self.limit)


@pytest.mark.parametrize(
    "module, outcome",
    [
        (_SignOfRounding(), Outcome.UNSTABLE),
        (_SignOfDifference(1.0), Outcome.UNSTABLE),
        (_SignOfDifference(1.0000005), Outcome.UNSTABLE),
        (_SignOfDifference(1.00001), Outcome.DIFFERS),
        (_Twice(), Outcome.DIFFERS),
    ],
)
def test_a_difference_that_eager_has_too_by_rounding_does_not_count(module: nn.Module, outcome: Outcome) -> None:
    args = (torch.ones(3),)
    with pytest.raises(Ended) as end, excusing_rounding(module, [(args, {})], [(module(*args),)], COVERED):
        raise Ended(Outcome.DIFFERS, "0.5 of the largest value")
    assert end.value.outcome is outcome and outcome.counted is (outcome is Outcome.DIFFERS)


class _SignOfWeight(nn.Module):
    """The sign of the difference of a token's weight from a limit."""

    def __init__(self, limit: float) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(8))
        self.limit = limit

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        return torch.sign(self.weight[tokens] - self.limit)


@pytest.mark.parametrize("limit, outcome", [(1.0, Outcome.UNSTABLE), (1.00001, Outcome.DIFFERS)])
def test_rounding_decides_also_where_the_inputs_are_integers(limit: float, outcome: Outcome) -> None:
    module, args = _SignOfWeight(limit), (torch.tensor([1, 2, 5]),)
    with pytest.raises(Ended) as end, excusing_rounding(module, [(args, {})], [(module(*args),)], COVERED):
        raise Ended(Outcome.DIFFERS, "0.5 of the largest value")
    assert end.value.outcome is outcome
    assert torch.equal(module.weight, torch.ones(8))


def test_a_large_error_of_dynamic_scales_does_not_excuse_every_result() -> None:
    ones = torch.ones(3)
    assert slack_of_scales((ones * 0.99,), (ones,)) == pytest.approx(0.02)
    assert slack_of_scales((ones * 9,), (ones,)) == slack_of_scales((ones, 1), (ones, 2)) == MAX_SLACK
    assert slack_of_scales((ones[:2],), (ones,)) == 0


@pytest.mark.parametrize(
    "error, outcome",
    [(0.2, Outcome.DIFFERS), (0.4, Outcome.UNSTABLE), (0.7, Outcome.DIFFERS), (float("nan"), Outcome.DIFFERS)],
)
def test_errors_as_large_as_eagers_in_that_precision_are_not_counted(error: float, outcome: Outcome) -> None:
    """Below the bound, something else differs, such as a shape."""
    record = Record("suite", "name", "xnnpack_bfloat16", Outcome.MATCHED, error=error)
    with pytest.raises(Ended) as end, excusing_precision(record, 0.25, 0.65):
        raise Ended(Outcome.DIFFERS, "different")
    assert end.value.outcome is outcome


class _Cancelled(torch.nn.Module):
    """A small difference of large values: rounding them to bfloat16 decides the result."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return (x * x + 3).mean() - (x * x + 2.99).mean()


def test_the_slack_of_half_precision_is_limited() -> None:
    def make() -> Example:
        return Example(_Cancelled(), (torch.linspace(0, 2, 100),), {})

    record = attempt(Case("suite", "cancelled", make, SMALL), "xnnpack_bfloat16", lambda *_: None)
    assert record.outcome is Outcome.UNSTABLE, record


def test_equal_elements_keep_their_order_in_eagers_second_opinion() -> None:
    x = torch.arange(300) % 3
    expected = torch.sort(x, stable=True, descending=True).indices
    with StableSorts():
        found = [
            torch.sort(x, descending=True)[1],
            x.sort(-1, True)[1],
            torch.argsort(x, -1, True),
            x.argsort(-1, True),
        ]
    assert all(torch.equal(one, expected) for one in found)


def test_a_shape_that_torch_export_gets_wrong_counts_as_unexported() -> None:
    def make() -> Example:
        target = torch.tensor([3, 1, 2, -1, 0, 0, 0, 0, 0, 0])
        return Example(nn.MultiLabelMarginLoss(reduction="none"), (torch.randn(10), target))

    record = attempt(Case("suite", "loss", make), "portable", lambda *_: None)
    assert record.outcome is Outcome.UNEXPORTED
    assert record.message == "torch.export found the shape (1,) for output 0, eager's is ()"


def test_a_case_that_cannot_be_built_does_not_count_as_a_miss() -> None:
    record = attempt(Case("suite", "bad", lambda: Example(_Twice(), ())), "portable", lambda *_: None)
    assert record.outcome is Outcome.UNBUILT and not record.outcome.counted


def _level(name: str, rule: Rule = SMALL) -> Level:
    return next(one for one in levels(rule) if one.name == name)


def test_the_odd_rule_makes_widths_that_are_no_multiple_of_8_and_oblong_images() -> None:
    config = {"hidden_size": 768, "intermediate_size": 3072, "num_attention_heads": 12, "num_hidden_layers": 12}
    image = {"image_size": 224, "patch_size": 16}
    small = shrunk(config | image, _level("oblong", ODD))
    assert small == {
        "hidden_size": 60,
        "intermediate_size": 84,
        "num_attention_heads": 3,
        "num_hidden_layers": 3,
        "image_size": [80, 112],
        "patch_size": 16,
    }
    assert shrunk(image, _level("square", ODD))["image_size"] == 80
    assert shrunk(image, _level("narrow", ODD)) == image


def test_records_of_another_rule_or_seed_are_beside_the_others(tmp_path: Path) -> None:
    records = Records(tmp_path / "results.jsonl")
    for rule in (SMALL, ODD, replace(ODD, seed=3)):
        case = Case("suite", "layer", lambda: Example(nn.ReLU(), (torch.randn(2),)), rule)
        records.add(attempt(case, "portable", lambda *_: None))
    assert [one.rule for one in Records(records.path)] == ["", "odd", "odd, seed 3"]
    assert '"portable, odd, seed 3"' in page(list(records), "")


def test_shrinking_keeps_kinds_of_layers_and_special_tokens_in_the_vocabulary() -> None:
    config = {
        "num_hidden_layers": 6,
        "layer_types": ["slide", "slide", "slide", "full", "slide", "full"],
        "hidden_size": 4096,
        "vocab_size": 32000,
        "image_token_id": 31990,
        "use_cache": True,
        "vision_config": {"hidden_size": 768, "num_hidden_layers": 12},
    }
    small = shrunk(config, _level("narrow"))
    assert small["layer_types"] == ["slide", "full"] and small["num_hidden_layers"] == 2
    assert small["hidden_size"] == 64 and small["vision_config"] == {"hidden_size": 64, "num_hidden_layers": 2}
    assert small["image_token_id"] < small["vocab_size"] and small["use_cache"] is True
    assert shrunk(config, _level("default")) == config
    heads = shrunk({"num_attention_heads": 8, "num_key_value_heads": None, "vocab_size": None}, _level("narrow"))
    assert heads == {"num_attention_heads": 4, "num_key_value_heads": 4, "vocab_size": 320}


def test_shrinking_fits_what_depends_on_layers_and_on_the_width_of_heads() -> None:
    config = {
        "num_hidden_layers": 4,
        "hidden_size": 1024,
        "num_attention_heads": 8,
        "per_layer_config": {"1": "a", "3": "b"},
        "windows": [1, 2, 3, 4],
        "depths": [3, 3, 9, 3],
        "rope_parameters": {"rope_type": "default", "mrope_section": [16, 24, 24]},
        "encoder": {"model_type": "vit", "hidden_size": 768},
    }
    small = shrunk(config, _level("narrow"))
    assert small["per_layer_config"] == {"1": "a"} and small["windows"] == [1, 2]
    assert small["depths"] == [2, 2, 2, 2] and small["encoder"]["hidden_size"] == 64
    assert sum(small["rope_parameters"]["mrope_section"]) == 64 // 4 // 2


class _Tower(nn.Module):
    """A vision tower of a language model: it takes flattened patches and the grid of each image."""

    main_input_name = "pixel_values"

    def __init__(self) -> None:
        super().__init__()
        self.config = SimpleNamespace(patch_size=2, in_channels=3, hidden_size=16)
        self.embed = nn.Linear(12, 16)

    def forward(self, pixel_values: torch.Tensor, grid_thw: torch.Tensor) -> torch.Tensor:
        return self.embed(pixel_values)[: int(grid_thw.prod(1).sum())]


class _Odd(nn.Module):
    def forward(self, session: object) -> object:
        return session


def test_arguments_follow_the_names_of_forward_and_the_first_layers() -> None:
    tower = _Tower()
    choice = next(choices(tower, SMALL))
    assert choice.names == {"pixel_values", "grid_thw"}
    assert tower(**choice.arguments(tower, 2, 12)).shape == (32, 16)
    assert unknown(_Odd) == ["session"]


def test_this_project_is_not_its_own_peer() -> None:
    with pytest.raises(ValueError, match="found this project in"):
        Peer(sys.executable)


_PEER = {"delegates": 3, "lower_cpu_seconds": 2.0}


def test_the_page_shows_totals_misses_and_every_attempt() -> None:
    records = [
        _record("good", Outcome.MATCHED, delegates=1, delegated=1.0, lower_cpu_seconds=0.5),
        _record("beside", Outcome.MATCHED, lower_cpu_seconds=0.5, peer={"outcome": "ran"} | _PEER),
        _record("bad", Outcome.NOT_LOWERED, message="no </script> kernel", parameters=3, reproduction="nn.Bad()"),
        _record("never", Outcome.UNEXPORTED),
    ]
    text = page(records, "Made today.")
    assert "| suite | `portable` | 2 | 3 | 50 % | 0.5 | 100 % | 0.50 s |" in text
    assert "it lowered 1 and ran 1. Median delegates: 0 here, 3 there. Median lowering time: 0.25 of its." in text
    assert "no </script> kernel" not in text.partition("## All attempts")[2]
    assert "Smallest: `nn.Bad()`" in text and '"never"' in text


@pytest.mark.parametrize("suite", ["nn", "functional", "func", "control_flow"])
def test_a_suite_lists_its_cases_and_its_first_one_can_be_made(suite: str) -> None:
    cases = list(SUITES[suite](SMALL))
    assert len({one.key for one in cases}) == len(cases) > 10
    assert cases[0].make().reproduction
