# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""The page of the documentation that shows kept results: totals, each miss, a table to filter.

It needs no torch: ``python -m test.coverage.page RESULTS PAGE``.
"""

from __future__ import annotations

import html
import json
import statistics
import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

from .record import Outcome, Record, Records

_HEAD = """\
# Model coverage

Every architecture of timm, every configuration class of transformers, the modules and functions of `torch.nn` with the
options of torch's own tests, `torch.func` and control flow: made small, exported, lowered, run, and compared with eager
PyTorch. `python -m test.coverage` makes these results (`--help` has its options). {made}

A *case* counts once torch.export has taken the model and PyTorch gets eager's numbers from the exported program.
*Matched*: each output is within the bound of eager's, relative to its largest value. The bound is 1e-3 in float32;
1e-2 (half), 5e-2 (bfloat16) and twice eager's own error in that precision, at most 0.2; 5e-2 for int8, whose reference
is the quantized model in eager. With dynamic scales, twice that model's own error, at most 0.2, is added, because a
delegate chooses a scale for each row and eager one for all. A difference does not count (*decided by rounding*) that
eager has too in float64, on inputs that differ in the last digit or by a millionth, with weights that differ by a
millionth, or if it sorts equal elements in another order; nor one of half precision between 0.2 and twice eager's own
error.
*Lowering*: seconds of processor time, with one thread.

"""
_SCRIPT = """
<script>
(() => {
  const rows = ROWS, body = document.querySelector("#coverage tbody");
  const field = document.querySelector("#coverage-filter"), shown = document.querySelector("#coverage-shown");
  const draw = () => {
    const words = field.value.toLowerCase().split(/\\s+/).filter(Boolean);
    const found = rows.filter(row => words.every(word => row.join(" ").toLowerCase().includes(word)));
    body.replaceChildren(...found.slice(0, 300).map(row => {
      const line = document.createElement("tr");
      row.forEach(cell => { line.appendChild(document.createElement("td")).textContent = cell; });
      return line;
    }));
    const cut = found.length > 300 ? ", the first 300 shown" : "";
    shown.textContent = `${found.length} of ${rows.length} attempts${cut}`;
  };
  field.addEventListener("input", draw);
  draw();
})();
</script>
"""


def write_page(records: Records, path: Path, made: str = "") -> None:
    """Write the page as Markdown with one table in HTML. made: a sentence on when and how the results were made."""
    path.parent.mkdir(parents=True, exist_ok=True)
    text = page(list(records), made)
    if not path.is_file() or path.read_text(encoding="utf-8") != text:
        path.write_text(text, encoding="utf-8")


def page(records: Sequence[Record], made: str) -> str:
    """The text of the page."""
    misses = [one for one in records if one.outcome.counted and one.outcome is not Outcome.MATCHED]
    return "".join(
        [
            _HEAD.format(made=made),
            "## Totals\n\n",
            *_totals(records),
            *_beside_peer(records),
            "\n## Misses\n\n",
            *(_misses(misses) if misses else ["None.\n"]),
            "\n## All attempts\n\nWords in the field are looked for in every column.\n\n",
            _table(records),
        ]
    )


def _way(record: Record) -> str:
    """Return the way, with the rule unless it is `small` with seed 0."""
    return ", ".join(filter(None, (record.way, record.rule)))


def _totals(records: Sequence[Record]) -> Iterable[str]:
    yield "| suite | way | matched | of | one delegate | median delegates | operations delegated | median lowering |\n"
    yield "| --- | --- | --- | --- | --- | --- | --- | --- |\n"
    for suite, way in dict.fromkeys((one.suite, _way(one)) for one in records):
        counted = [one for one in records if (one.suite, _way(one)) == (suite, way) and one.outcome.counted]
        matched = [one for one in counted if one.outcome is Outcome.MATCHED]
        if not matched:
            continue
        single = sum(one.delegates == 1 for one in matched)
        shares = [one.delegated for one in matched if one.delegated is not None]
        seconds = [one.lower_cpu_seconds for one in matched if one.lower_cpu_seconds]
        yield (
            f"| {suite} | `{way}` | {len(matched)} | {len(counted)} | {100 * single / len(matched):.0f} % "
            f"| {statistics.median(one.delegates for one in matched):g} | {100 * statistics.mean(shares or [0]):.0f} % "
            f"| {statistics.median(seconds or [0]):.2f} s |\n"
        )


def _beside_peer(records: Sequence[Record]) -> Iterable[str]:
    """Medians of the cases that both this project and the peer lowered; nothing without such cases."""
    compared = [one for one in records if one.outcome is Outcome.MATCHED and one.peer is not None]
    both = [(one, one.peer) for one in compared if one.peer and one.peer.get("lower_cpu_seconds")]
    if not both:
        return
    ran = sum(peer["outcome"] == "ran" for _, peer in both)
    seconds = [one.lower_cpu_seconds / peer["lower_cpu_seconds"] for one, peer in both]
    yield "\n## Beside ExecuTorch 1.4\n\n"
    yield (
        f"The same exported programs were given to ExecuTorch 1.4 for {len(compared)} of the matched cases: it lowered "
        f"{len(both)} and ran {ran}. Median delegates: {statistics.median(one.delegates for one, _ in both):g} here, "
        f"{statistics.median(peer['delegates'] for _, peer in both):g} there. Median lowering time: "
        f"{statistics.median(seconds):.2f} of its.\n"
    )


def _misses(misses: Sequence[Record]) -> Iterable[str]:
    """Each message once, with its cases and the smallest reproduction."""
    classes: dict[tuple[str, str], list[Record]] = {}
    for one in misses:
        classes.setdefault((one.outcome.value, one.message[:80]), []).append(one)
    for (outcome, _), members in sorted(classes.items(), key=lambda item: -len(item[1])):
        smallest = min(members, key=lambda one: one.parameters)
        names = Counter(f"{one.suite}/{one.name}" for one in members)
        yield f"- **{outcome}**, {len(members)} attempts: {_code(smallest.message[:400])}\n"
        yield f"  Cases: {', '.join(list(names)[:12])}{', …' if len(names) > 12 else ''}.\n"
        if smallest.reproduction:
            yield f"  Smallest: {_code(smallest.reproduction)} (`{_way(smallest)}`).\n"


def _code(text: str) -> str:
    return f"`{text.replace('`', chr(39))}`"


def _table(records: Sequence[Record]) -> str:
    rows = [
        [
            *(one.suite, one.name, _way(one), one.outcome.value, str(one.delegates) if one.file_bytes else ""),
            "" if one.delegated is None else f"{100 * one.delegated:.0f} %",
            "" if one.error is None else f"{one.error:.1e}",
            f"{one.lower_cpu_seconds:.2f}" if one.lower_cpu_seconds else "",
            one.message[:120],
        ]
        for one in records
    ]
    heads = ("suite", "case", "way", "outcome", "delegates", "delegated", "error", "lowering (s)", "message")
    cells = "".join(f"<th>{html.escape(one)}</th>" for one in heads)
    return (
        '<p><input id="coverage-filter" placeholder="filter, for example: transformers xnnpack missed" '
        'aria-label="filter" style="width: 100%"> <span id="coverage-shown"></span></p>\n'
        '<div style="overflow-x: auto"><table id="coverage" class="docutils">'
        f"<thead><tr>{cells}</tr></thead><tbody></tbody></table></div>\n"
        + _SCRIPT.replace("ROWS", json.dumps(rows).replace("</", "<\\/"))
    )


if __name__ == "__main__":
    write_page(Records(Path(sys.argv[1])), Path(sys.argv[2]), " ".join(sys.argv[3:]))
