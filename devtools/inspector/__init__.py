# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Inspector: reads an execution trace together with the ETRecord of the program's export."""

from executorch.devtools.inspector.compare_results import compare_results
from executorch.devtools.inspector.event import Event, PerfData
from executorch.devtools.inspector.event_block import EventBlock
from executorch.devtools.inspector.inspector import Inspector
from executorch.devtools.inspector.time_scale import TimeScale

__all__ = ["Event", "EventBlock", "Inspector", "PerfData", "TimeScale", "compare_results"]
