"""Results in words: one sentence per metric, for people who do not read tables."""

from __future__ import annotations

from perdure.stats.compare import Difference, decided, smallest_p
from perdure.stats.threshold import ALPHA

__all__ = ["counted", "number", "p_text", "sentence"]

_SIZES = ((0.147, "negligible"), (0.33, "small"), (0.474, "medium"), (1.1, "large"))
"""Bounds on the absolute value of Cliff's δ (Romano et al. 2006)."""


def counted(count: int, what: str) -> str:
    """`1 lifetime`, `2 lifetimes`."""
    return f"{count} {what}" if count == 1 else f"{count} {what}s"


def number(value: float | None) -> str:
    """Four significant digits, never in exponents where a person would not write them."""
    if value is None:
        return "–"
    if value and not 1e-3 <= abs(value) < 1e6:
        return f"{value:.1e}".replace("-", "−")
    return f"{value:.4g}".replace("-", "−")


def p_text(p: float | None) -> str:
    """`p = .032`, or `p < .001`."""
    if p is None:
        return "–"
    return "< .001" if p < 0.001 else f"{p:.3f}".lstrip("0") if p < 0.9995 else "1"


def sentence(one: Difference, system: str, baseline: str, least_p: float = 0.0) -> str:
    """What the comparison says about one metric; `least_p` is the smallest that its family allows."""
    name = one.metric.replace("_", " ")
    if one.p is None or one.difference is None:
        return f"{name}: nothing can be said ({one.why or 'no values'})."
    ahead = one.difference * (1 if one.better == "higher" else -1)
    p = p_text(one.p_holm)
    said = f"p {p}" if p.startswith("<") else f"p = {p}"
    size = next(word for bound, word in _SIZES if abs(one.cliffs_delta or 0.0) < bound)
    without = f"; {one.why}" if one.why else ""
    interval = f"{one.level:.0%} interval {number(one.low)} to {number(one.high)}"
    if not decided(one):
        given = counted(one.n, "pair") if _paired(one) else f"{one.n} against {counted(one.baseline_n, 'lifetime')}"
        few = max(least_p, smallest_p(one.n, one.baseline_n, paired=_paired(one))) >= ALPHA
        verb = "are too few to" if few else "do not"
        return (
            f"{name}: {given} {verb} tell {system} and {baseline} apart "
            f"(difference {number(one.difference)}, {interval}; {said} after Holm"
            f"{', and no result could have given p < .05' if few else ''}{without})."
        )
    matches = counted(one.n, "pair") if _paired(one) else "match-ups"
    verb = "better" if ahead > 0 else "worse"
    return (
        f"{name}: {system} does {verb} than {baseline} by {number(abs(one.difference))} "
        f"({interval}; {said} after Holm; a {size} effect, "
        f"better in {one.improvement or 0.0:.0%} of {matches}{without})."
    )


def _paired(one: Difference) -> bool:
    return bool(one.test and one.test.startswith("Wilcoxon"))
