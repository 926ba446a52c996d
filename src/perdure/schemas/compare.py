"""What `perdure compare --json` writes."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from msgspec import Meta

from perdure.metrics.declare import Better
from perdure.schemas.score import LeftOut, LeftOutPath
from perdure.schemas.structs import Count, Part, Share
from perdure.stats.model import Verdict


class Difference(Part):
    """Two systems by one metric."""

    n: Count
    baseline_n: Count
    paired: bool
    scale: Literal["difference", "ratio"]
    """Ratio: system over baseline, and no difference is 1."""
    mean: float | None
    baseline_mean: float | None
    sd: float | None
    baseline_sd: float | None
    difference: float | None
    """System minus baseline as measured, or system over baseline where scale is ratio."""
    low: float | None
    high: float | None
    level: float
    test: Literal["paired t", "Welch's t", None]
    statistic: float | None
    df: float | None
    p: Share | None
    """Two-sided, the interval's dual."""
    p_holm: Share | None
    """Adjusted over the headline metrics that both could answer, whichever are shown."""
    family: Count
    """How many headline metrics both could answer."""
    word: Literal["better", "worse", "likely better", "likely worse", "undecided", None]
    """Null for what is exploratory."""
    rank_p: Share | None
    """Beside p and never deciding."""
    permutation_p: Share | None
    improvement: Share | None
    """How likely a lifetime of the system does better than one of the baseline."""
    cliffs_delta: Annotated[float, Meta(ge=-1, le=1)] | None
    hedges_g: float | None
    order: Share | None
    """Almost stochastic order; null unless asked for."""
    better: Better
    why: str | None
    sentence: str


class Comparison(Part):
    """Two systems."""

    system: str
    baseline: str
    learner: str | None
    """Whose scenario types are compared, where they are the systems."""
    scenario_type: str | None
    measure: str | None
    paired: bool
    pairing: str
    """Whether lifetimes were paired, and on what grounds."""
    n: int
    baseline_n: int
    metrics: dict[str, Difference]
    only_in: dict[str, list[str]]
    left_out: list[LeftOut]
    notes: list[str]
    family: list[str]
    """What Holm's adjustment ran over."""


class Letters(Part):
    """Who differs from whom, by letters."""

    learner: str | None
    """Whose scenario types are compared, where they are the systems."""
    scenario_type: str | None
    measure: str | None
    tests: int
    metrics: dict[str, dict[str, str]]


class Met(Part):
    """How many thresholds are met."""

    met: int
    of: int


class Judged(Part):
    """One system against one threshold."""

    mean: float | None
    sd: float | None
    threshold: float | None
    t: float | None
    p: float | None
    verdict: Verdict


class System(Part):
    """One system against every threshold."""

    system: str
    n: int
    metrics: dict[str, Judged]


class Tally(Part):
    """Each system against the thresholds, with one-tailed p; null under standard."""

    met: int
    of: int
    metrics: dict[str, Met]
    systems: list[System]


class Comparisons(Part):
    """What `perdure compare --json` writes."""

    perdure: str
    schema: int
    """The form of this JSON."""
    definitions: int
    """The edition of the definitions that the values follow."""
    preset: str
    level: float
    systems: Annotated[list[str], Meta(min_length=2)]
    baseline: str
    comparisons: Annotated[list[Comparison], Meta(min_length=1)]
    left_out: list[LeftOutPath]
    notes: list[str]
    settings: dict[str, Any]
    """Every setting by its name, as `score.schema.json` describes them."""
    settings_from: dict[str, str]
    """Every setting to where its value came from."""
    letters: list[Letters]
    """Of three systems or more: two that share no letter differ, after Holm over pairs and metrics."""
    tally: Tally | None
    """Each system against the thresholds, with one-tailed p; null under standard."""
