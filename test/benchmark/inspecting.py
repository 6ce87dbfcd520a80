# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""The time to inspect a large trace, here and by the peer's Inspector: by default 100 runs of 1,000 events each.

``python test/benchmark/inspecting.py [--runs N] [--events N] [--rounds N]``; ``EXECUTORCH_PEER_PYTHON`` names the
peer's interpreter. Each round is a new process. Seconds are its CPU time on one thread, from the Inspector's call to
its table, without imports, which a busy machine changes little.
"""

import argparse
import os
import sys
import tempfile
from pathlib import Path

from fresh_process import figures_of
from tabulate import tabulate

INSPECT = """
import json, sys, time
import pandas, tabulate
from executorch.devtools import Inspector
start = time.process_time()
inspector = Inspector(etdump_path=sys.argv[1])
middle = time.process_time()
frame = inspector.to_dataframe()
with open("/dev/null", "w") as nowhere:
    inspector.print_data_tabular(nowhere)
print(json.dumps({"read": middle - start, "tables": time.process_time() - middle, "rows": len(frame)}))
"""


def write_trace(path: Path, runs: int, events: int) -> None:
    """Write the trace of a program with kernels and a delegate: each kernel's call with its frame."""
    from executorch.devtools.etdump.schema_flatcc import ETDumpFlatCC, Event, ProfileEvent, RunData
    from executorch.devtools.etdump.serialize import serialize_to_etdump_flatcc

    def run(number: int) -> RunData:
        begin = number * events * 2000
        made = []
        for index in range(events):
            start = begin + 2000 * index
            name = "OPERATOR_CALL" if index % 2 else f"native_call_operator_{index % 40}.out"
            times = {"start_time": start, "end_time": start + 1000 + (index * 7919 + number * 104729) % 900}
            if index % 10 == 3:
                made.append(
                    ProfileEvent(None, 0, index // 2, delegate_debug_id_str=f"GEMM #{index} [{index}]", **times)
                )
            else:
                made.append(ProfileEvent(name, 0, index // 2, **times))
        return RunData("Execute", -1, [], [Event(event) for event in made])

    path.write_bytes(serialize_to_etdump_flatcc(ETDumpFlatCC(0, [run(number) for number in range(runs)])))


def measure(python: str, trace: Path) -> dict[str, float]:
    """One inspection in a fresh process of ``python``."""
    return figures_of(python, "inspecting", "-c", INSPECT, str(trace))


def main() -> None:
    """Print a row for each engine: the least seconds of the rounds."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=100)
    parser.add_argument("--events", type=int, default=1000)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    pythons = {"ours": sys.executable, "peer": os.environ.get("EXECUTORCH_PEER_PYTHON", "")}
    with tempfile.TemporaryDirectory() as folder:
        trace = Path(folder) / "trace.etdp"
        write_trace(trace, options.runs, options.events)
        print(f"{options.runs} runs of {options.events} events, {trace.stat().st_size / 1e6:.1f} MB")
        by_engine = {
            name: [measure(python, trace) for _ in range(options.rounds)] for name, python in pythons.items() if python
        }
    rows = [
        (
            name,
            *(min(figure[key] for figure in figures) for key in ("read", "tables")),
            min(sum((figure["read"], figure["tables"])) for figure in figures),
        )
        for name, figures in by_engine.items()
    ]
    print(tabulate(rows, headers=("", "reading, s", "tables, s", "sum, s"), floatfmt=".2f"))


if __name__ == "__main__":
    main()
