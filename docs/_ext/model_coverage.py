# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""The page of model coverage, from the results that the repository keeps."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
RESULTS = ROOT / "test" / "coverage" / "results.jsonl"
MADE = (
    "The kept results are a part of the sweep, made on 2026-11-26 and 27 with torch 2.13, timm 1.0.31 and transformers "
    "5.24, most in random order: the way `xnnpack` on two thirds of timm, a third of the cases of transformers, "
    "two thirds of `torch.nn` and a few of its functions; the other ways on a small part of `torch.nn` and its "
    "functions. Rows named `odd, seed 5` and `odd, seed 27` are random cases with widths that are not multiples of 8, "
    "three layers, a batch of 3 and oblong images; with seed 27 they are {odd} of the 1,018 cases of transformers. "
    "Cases that took longer than 25 s of processor time, or 100 s on the busy machine, were mostly left out. Rows "
    "named `seed 41`, and some others, have the peer's result beside. Random cases of all suites were also run in all "
    "precisions and with a batch that varies. {untimed} results, most of 2026-11-24 and 25, have no times. Other work "
    "shared the two cores."
)


def _made() -> str:
    """Return how the results were made, with their numbers."""
    records = [json.loads(line) for line in RESULTS.read_text(encoding="utf-8").splitlines()]
    odd = {
        record["name"]
        for record in records
        if (record["suite"], record.get("rule")) == ("transformers", "odd, seed 27")
    }
    return MADE.format(odd=len(odd), untimed=sum("attempt_cpu_seconds" not in record for record in records))


def page() -> str:
    """Return the page. Another process renders it: the tests' package has the name of a package of Python's."""
    with tempfile.TemporaryDirectory() as folder:
        written = Path(folder, "page.md")
        command = [sys.executable, "-m", "test.coverage.page", str(RESULTS), str(written), _made()]
        subprocess.run(command, cwd=ROOT, check=True)
        return written.read_text(encoding="utf-8")
