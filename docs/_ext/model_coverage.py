# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""The page of model coverage, from the results that the repository keeps."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
RESULTS = ROOT / "test" / "coverage" / "results.jsonl"
MADE = (
    "The kept results are a part of a run on 2026-11-24: the way `xnnpack`, half of timm, transformers from a to c. "
    "On 2026-11-25 models whose delegates had changed were measured again: BEiT, BYOANet, CSATv2, EfficientFormerV2, "
    "Hiera, RecurrentGemma, RWKV. Other work shared the two cores, so that the times are several times too long."
)


def page() -> str:
    """Return the page. Another process renders it: the tests' package has the name of a package of Python's."""
    with tempfile.TemporaryDirectory() as folder:
        made = Path(folder, "page.md")
        command = [sys.executable, "-m", "test.coverage.page", str(RESULTS), str(made), MADE]
        subprocess.run(command, cwd=ROOT, check=True)
        return made.read_text(encoding="utf-8")
