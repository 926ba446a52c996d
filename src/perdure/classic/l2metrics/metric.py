"""A metric as l2metrics 3.1 has it, and the same as one of Perdure's."""

from __future__ import annotations

import math
import sys
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from numbers import Real
from typing import Any
from weakref import WeakKeyDictionary

from perdure.classic.l2metrics.frames import frames
from perdure.classic.l2metrics.regimes import KEYS, OWN
from perdure.curves.model import Curves
from perdure.errors import MetricError
from perdure.metrics.arithmetic import NoValue
from perdure.metrics.declare import Metric as Declared
from perdure.metrics.declare import metric
from perdure.metrics.measure import Context
from perdure.scenario.model import Scenario
from perdure.scenario.sites import Site


class Metric(ABC):
    """One metric: `calculate` adds columns to the table of regimes, and gives the table back."""

    capability: Any = None
    name: Any = ""
    description: Any = ""
    requires: Any = {}  # noqa: RUF012 - an attribute or a property, as l2metrics has it

    @abstractmethod
    def calculate(self, dataframe: Any, block_info: Any, metrics_df: Any) -> Any:
        """The table with what this adds; all three are frames of pandas, as l2metrics makes them."""


def calculated(one: Any, dataframe: Any, block_info: Any, metrics_df: Any) -> Any:
    """What a metric gives back, which must be the table."""
    found = one.calculate(dataframe, block_info, metrics_df)
    if not hasattr(found, "columns"):
        raise MetricError(f"{type(one).__name__}.calculate gave {type(found).__name__}", "let it give back metrics_df")
    return found


def added(metrics_df: Any) -> dict[str, list[float | None]]:
    """The columns of numbers that are not l2metrics' own, a value for each regime; None where there is none."""
    found: dict[str, list[float | None]] = {}
    for name in metrics_df.columns:
        if name in (*KEYS, *OWN, "task_params"):
            continue
        cells = [_number(one) for one in metrics_df[name]]
        if any(one is not None for one in cells):
            found[str(name)] = cells
    return found


def _number(cell: Any) -> float | None:
    return float(cell) if isinstance(cell, Real) and math.isfinite(cell) else None


def declared(one: Any, column: str | None = None) -> Declared:
    """A metric of l2metrics as one of Perdure's, for `perdure score --metrics FILE.py`; `column` says which it adds.

    A task's values are averaged, then the tasks, as l2metrics does with its own. Call it at the end of the file that
    holds the class, or in one beside it.
    """
    kept: WeakKeyDictionary[Curves, Mapping[str, list[float | None]]] = WeakKeyDictionary()

    def formula(life: Curves, at: Site, context: Context) -> float:
        if life not in kept:
            kept[life] = added(calculated(one, *frames(life, context)))
        columns = kept[life]
        name = column or next(iter(columns), "")
        if len(columns) > 1 and column is None:
            raise NoValue(f"{called} adds {', '.join(columns)}; say which: declared(…, {next(iter(columns))!r})")
        value = columns[name][at.blocks["at"][0]] if name in columns else None
        if value is None:
            raise NoValue(f"{called} says nothing of this block")
        return value

    words = column or str(one.name or type(one).__name__)
    called = "_".join("".join(letter if letter.isalnum() else " " for letter in words).lower().split())
    formula.__doc__ = str(one.description or "").strip() or f"{words}, as calculated for l2metrics."
    return metric(_each_block, name=called, source="l2metrics 3.1")(formula)


def _each_block(scenario: Scenario) -> Iterator[Site]:
    """a block"""  # noqa: D403 - completes "the scenario needs …"
    for index, block in enumerate(scenario.blocks):
        yield Site(block.task, {"at": (index,)})


def stand_in() -> None:
    """Let `import l2metrics` mean this package, for files that say so and are not to be changed; not undone.

    Only where l2metrics itself is not loaded. Nothing does this by itself.
    """
    here = sys.modules["perdure.classic.l2metrics"]
    for name in ("l2metrics", "l2metrics.core", "l2metrics.report"):
        sys.modules.setdefault(name, here)
