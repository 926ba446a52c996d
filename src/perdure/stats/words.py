"""Results in words: one sentence per metric, for people who do not read tables."""

from __future__ import annotations

from perdure.stats.compare import Difference, decided

__all__ = ["number", "p_text", "sentence"]

_SIZES = ((0.147, "negligible"), (0.33, "small"), (0.474, "medium"), (1.1, "large"))
"""Bounds on the absolute value of Cliff's δ (Romano et al. 2006)."""


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


def sentence(one: Difference, system: str, baseline: str) -> str:
    """What the comparison says about one metric."""
    name = one.metric.replace("_", " ")
    if one.p is None or one.difference is None:
        return f"{name}: nothing can be said ({one.why or 'no values'})."
    ahead = one.difference * (1 if one.better == "higher" else -1)
    p = p_text(one.p_holm)
    said = f"p {p}" if p.startswith("<") else f"p = {p}"
    size = next(word for bound, word in _SIZES if abs(one.cliffs_delta or 0.0) < bound)
    interval = f"{one.level:.0%} interval {number(one.low)} to {number(one.high)}"
    if not decided(one):
        return (
            f"{name}: {one.n} against {one.baseline_n} lifetimes do not tell {system} and {baseline} apart "
            f"(difference {number(one.difference)}, {interval}; {said} after Holm)."
        )
    verb = "better" if ahead > 0 else "worse"
    return (
        f"{name}: {system} does {verb} than {baseline} by {number(abs(one.difference))} "
        f"({interval}; {said} after Holm; a {size} effect, better in {one.improvement or 0.0:.0%} of {_matches(one)})."
    )


def _matches(one: Difference) -> str:
    return "pairs" if one.test and one.test.startswith("Wilcoxon") else "match-ups"
