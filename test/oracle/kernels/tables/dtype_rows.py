# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
"""Many dtype combinations as few rows of the operators' table (executorch/exir/dialects/operator_table.py)."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence

import torch

from executorch.exir.dialects.operator_table import promoted

Dtypes = tuple[torch.dtype, ...]
Words = tuple[str, ...]
# Words, the dtypes of T and of U, and the combinations that they expand to.
_Block = tuple[Words, frozenset[torch.dtype], frozenset[torch.dtype], set[Dtypes]]

# Named sets of the table, in the order in which rows name them.
DTYPE_SETS = {
    "bool": (torch.bool,),
    "ints": (torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64),
    "halves": (torch.float16, torch.bfloat16),
    "floats": (torch.float32, torch.float64),
    "unsigned": (torch.uint16, torch.uint32, torch.uint64),
    "complexes": (torch.complex64, torch.complex128),
}


def _name(dtype: torch.dtype) -> str:
    return str(dtype).removeprefix("torch.")


def named_dtype_sets() -> dict[str, str]:
    return {name: " ".join(map(_name, members)) for name, members in DTYPE_SETS.items() if len(members) > 1}


def _as_sets(dtypes: Iterable[torch.dtype]) -> str:
    left, words = set(dtypes), []
    for name, members in DTYPE_SETS.items():
        if left.issuperset(members):
            words.append(name)
            left.difference_update(members)
    order = {dtype: i for i, dtype in enumerate(d for members in DTYPE_SETS.values() for d in members)}
    return " ".join(words + [_name(d) for d in sorted(left, key=lambda d: (order.get(d, 99), str(d)))])


def _patterns(combination: Dtypes, inputs: int) -> Iterator[Words]:
    """Words that could stand for the combination among others."""
    names = tuple(map(_name, combination))
    kinds = list(dict.fromkeys(combination))
    for one in kinds:
        yield tuple("T" if d is one else w for d, w in zip(combination, names, strict=True))
    for one, other in itertools.combinations(kinds, 2):
        yield tuple("T" if d is one else "U" if d is other else w for d, w in zip(combination, names, strict=True))
    if len(kinds := list(dict.fromkeys(combination[:inputs]))) == 2:
        sum_of_both = promoted(*kinds)
        words = ["T" if d is kinds[0] else "U" for d in combination[:inputs]]
        yield (*words, *("T+U" if d is sum_of_both else _name(d) for d in combination[inputs:]))


def _all_of(words: Words, combinations: set[Dtypes], dtypes: Sequence[torch.dtype]) -> dict[Dtypes, Dtypes]:
    """Return the combinations that words expand to, by the dtype of T or the pair of T and U."""
    by_ranges = {}
    for ranges in itertools.product(dtypes, repeat=2 if "U" in words else 1):
        meant: dict[str, torch.dtype | None] = dict(zip("TU", ranges, strict=False))
        if "T+U" in words:
            meant["T+U"] = promoted(*ranges)
        combination = tuple(meant[word] if word in meant else getattr(torch, word) for word in words)
        if combination in combinations:
            by_ranges[ranges] = combination
    return by_ranges


def rows_of(combinations: set[Dtypes], inputs: int) -> list[str]:
    """Rows that expand to exactly these combinations; `inputs` of the dtypes are arguments, the rest outputs."""
    ordered = sorted(combinations, key=str)
    dtypes = list(dict.fromkeys(dtype for combination in ordered for dtype in combination))
    patterns = dict.fromkeys(words for combination in ordered for words in _patterns(combination, inputs))
    blocks = [block for words in patterns for block in _blocks(words, _all_of(words, combinations, dtypes))]
    left, rows = set(combinations), []
    while left:
        words, one, other, covered = max(
            blocks, key=lambda block: (len(left & block[3]), "U" not in block[0], block[0].count("T"), str(block[0]))
        )
        left -= covered
        ranges = " / ".join(filter(None, (_as_sets(one), _as_sets(other))))
        rows.append(" ".join([*words[:inputs], "->", *words[inputs:]]) + f": {ranges}")
    return rows


def _blocks(words: Words, combinations: dict[Dtypes, Dtypes]) -> Iterator[_Block]:
    """Expand a pattern: all dtypes of one variable; for two variables, the product: the same U for several T."""
    if "U" not in words:
        yield words, frozenset(one for (one,) in combinations), frozenset(), set(combinations.values())
        return
    after: dict[torch.dtype, frozenset[torch.dtype]] = {}
    for one, other in combinations:
        after[one] = after.get(one, frozenset()) | {other}
    for partners in dict.fromkeys(after.values()):
        firsts = [one for one, others in after.items() if partners <= others]
        yield words, frozenset(firsts), partners, {combinations[one, other] for one in firsts for other in partners}
