# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Façade: former names of the lowering report, kept for one release."""

from executorch.exir.report.lowering_report import DelegateReport as DelegateVerdict
from executorch.exir.report.lowering_report import Fallback, check_strict, fallbacks_of
from executorch.exir.report.lowering_report import LoweringReport as Verdict
from executorch.exir.report.lowering_report import MethodReport as MethodVerdict
from executorch.exir.report.lowering_report import lowering_report as verdict_on

__all__ = ["DelegateVerdict", "Fallback", "MethodVerdict", "Verdict", "check_strict", "fallbacks_of", "verdict_on"]
