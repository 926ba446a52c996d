"""Which lifetime each row of a table belongs to, and who these lifetimes are, by its identity columns."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import msgspec
import numpy as np
import numpy.typing as npt

from perdure.lazy import pl
from perdure.log import cells
from perdure.log.formats.column_names import IDENTITY
from perdure.log.manifest import ROLES
from perdure.log.model import Role
from perdure.log.rows import Table

Counts = npt.NDArray[np.int64]
_MUST_BE_SAID = ("learner", "lifetime", "seed")
_LARGEST = 2**63 - 1


class Who(msgspec.Struct, frozen=True):
    """One lifetime of a table, as its identity columns have it."""

    inside: str = ""
    """Its name inside the file; empty where the file holds no other."""
    learner: str | None = None
    seed: int | None = None
    stated_type: str | None = None
    role: Role = "life"


class Lives(msgspec.Struct, frozen=True, eq=False):
    """The lifetimes of a table, in order of appearance, and whose each row is."""

    who: tuple[Who, ...]
    of_row: Counts
    columns: tuple[str, ...] = ()
    """The columns that hold identity, and nothing that was experienced."""
    notes: tuple[str, ...] = ()

    def between(self, first: int, last: int) -> tuple[Lives, Counts]:
        """The lifetimes from `first` to before `last`, and which rows are theirs."""
        rows = np.flatnonzero((self.of_row >= first) & (self.of_row < last))
        return Lives(self.who[first:last], self.of_row[rows] - first, self.columns, self.notes), rows


def lives(table: Table, present: Sequence[str], declared: Sequence[str], blocks: Sequence[str]) -> Lives:
    """Whose each row is: a lifetime is a distinct combination of the identity columns that are `present`.

    `declared` are those that the user mapped. A seed that nobody declared, in a table that names neither
    lifetime nor learner, is identity only where each of its values spans at least two blocks, that is, runs
    of equal cells in `blocks` (rows, where there are no such columns); else it is noise, and a note says so.
    """
    if not present:
        return Lives((Who(),), np.zeros(table.rows.height, np.int64))
    # Rows of one lifetime usually stand together, so that only the first row of each run is looked at.
    rows = table.rows.select(present)
    heads = np.flatnonzero(_changed(rows).to_numpy())
    runs = table.taken(rows[heads], heads)
    keys = {name: cells.labels(runs, name) for name in present}
    keys = {name: key for name, key in keys.items() if key.null_count() < key.len()}
    notes: list[str] = []
    if "role" in keys:
        unknown = ~keys["role"].str.to_lowercase().is_in(list(ROLES))
        cells.refuse(
            runs,
            "role",
            unknown.fill_null(True),
            f"one of {', '.join(ROLES)} (rename a column that means something else)",
        )
    if "seed" in keys and not {"lifetime", "learner"} & keys.keys() and "seed" not in declared:
        noise = _noise(table, [name for name in blocks if name in table.rows.columns])
        if noise:
            notes.append(noise)
            del keys["seed"]
    for name in _MUST_BE_SAID:
        if name in keys:
            cells.refuse(runs, name, keys[name].is_null(), f"a value in every row; it says which {name} a row is of")
    if not keys:
        return Lives((Who(),), np.zeros(table.rows.height, np.int64), (), tuple(notes))
    known = pl.DataFrame(keys)
    combinations = known.unique(maintain_order=True)
    numbered = combinations.with_row_index("number")
    found = known.join(numbered, on=list(keys), how="left", nulls_equal=True, maintain_order="left")["number"]
    of_row = np.repeat(found.to_numpy().astype(np.int64), np.diff(np.append(heads, table.rows.height)))
    return Lives(_who(combinations), of_row, tuple(keys), tuple(notes))


def _noise(table: Table, blocks: Sequence[str]) -> str:
    """Why the seed says nothing about lifetimes; empty where it does."""
    apart = table.rows.select("seed", *blocks).sort("seed", maintain_order=True)
    spans = (apart.filter(_changed(apart)) if blocks else apart)["seed"].value_counts()["count"]
    short = int((spans < 2).sum())
    if not short or len(spans) == 1:
        return ""
    return (
        f"the column {table.call('seed')} is taken for noise: {short} of its {len(spans)} values stand in one block "
        "only; where each value is a lifetime of its own, say --column lifetime=seed"
    )


def _changed(rows: pl.DataFrame) -> pl.Series:
    """Whether a row differs from the one before it; the first does."""
    differs = [pl.col(name).ne_missing(pl.col(name).shift()) for name in rows.columns]
    changed = rows.select(pl.any_horizontal(differs).alias("changed"))["changed"]
    return changed.scatter(0, True) if rows.height else changed


def _who(combinations: pl.DataFrame) -> tuple[Who, ...]:
    everyone = combinations.to_dicts()
    if len(everyone) == 1:
        return (_one(everyone[0], ""),)
    if "lifetime" in combinations.columns and combinations["lifetime"].n_unique() == len(everyone):
        names = combinations["lifetime"].to_list()
    else:
        names = [_name(one) for one in everyone]
        again = Counter(names)
        # `a/b` of learner a and learner `a/b` read the same; their place in the file tells them apart.
        names = [f"{name} ({at})" if again[name] > 1 else name for at, name in enumerate(names, start=1)]
    return tuple(_one(one, name) for one, name in zip(everyone, names, strict=True))


def _name(one: dict[str, str | None]) -> str:
    """The identity in words: its values, with a slash between; an expert says so in front."""
    expert = ["expert"] if _role(one) == "expert" else []
    return "/".join([*expert, *(value for name in IDENTITY if name != "role" and (value := one.get(name)))])


def _one(one: dict[str, str | None], name: str) -> Who:
    seed = one.get("seed")
    number = int(seed) if seed is not None and seed.isdecimal() and len(seed) < 20 and int(seed) <= _LARGEST else None
    return Who(name, one.get("learner"), number, one.get("scenario"), _role(one))


def _role(one: dict[str, str | None]) -> Role:
    return ROLES[(one.get("role") or "life").lower()]
