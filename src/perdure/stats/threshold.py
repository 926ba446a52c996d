"""Against the threshold: a one-tailed t test, a sign test beside it, and one rule for the verdict."""

from __future__ import annotations

from dataclasses import dataclass
from typing import overload

import numpy as np

from perdure.metrics.declare import Bar
from perdure.stats.model import Array, Verdict

__all__ = ["ALPHA", "RULE", "Judgement", "constant", "judge", "one_tailed_t", "sign_test", "t_interval"]

ALPHA = 0.05
_ROUNDING = 1e-12  # values that differ by less than this share of their size are the same value

RULE = (
    "Verdict: met where a one-tailed t test gives p < .05 above the threshold less its margin (0 unless set), "
    "not met where it gives p < .05 below the threshold, else undecided. "
    "Where all lifetimes agree (sd 0) t is undefined and the value itself decides: above met, below not met, "
    "equal undecided. sd with ddof 1."
)


@dataclass(frozen=True)
class Judgement:
    """How one metric's values stand to its threshold; None is what could not be said, and `why` says why."""

    t: float | None = None
    p: float | None = None
    above: float | None = None
    above_count: int | None = None
    sign_p: float | None = None
    verdict: Verdict | None = None
    why: str | None = None


@overload
def one_tailed_t(mean: float, sd: float, n: float, threshold: float, sign: float = 1.0) -> tuple[float, float]: ...
@overload
def one_tailed_t(
    mean: Array, sd: Array, n: Array | float, threshold: float, sign: float = 1.0
) -> tuple[Array, Array]: ...
def one_tailed_t(
    mean: Array | float, sd: Array | float, n: Array | float, threshold: float, sign: float = 1.0
) -> tuple[Array | float, Array | float]:
    """T and the one-tailed p ("greater") of means against a threshold; sd has ddof 1 and is not 0.

    With `sign` −1 the better side lies below, and t is positive there.
    """
    from scipy.special import stdtr  # type: ignore[import-untyped]

    t = sign * (np.asarray(mean) - threshold) / (np.asarray(sd) / np.sqrt(n))
    p = stdtr(np.asarray(n) - 1.0, -t)
    return (float(t), float(p)) if t.ndim == 0 else (t, p)


def t_interval(mean: Array | float, sd: Array | float, n: Array | float, level: float) -> tuple[Array, Array]:
    """The t interval of a mean. At five lifetimes a percentile bootstrap would cover 83 % where it says 95 %."""
    from scipy.special import stdtrit

    half = stdtrit(np.asarray(n) - 1.0, 0.5 + level / 2) * np.asarray(sd) / np.sqrt(n)
    return np.asarray(mean - half), np.asarray(mean + half)


def sign_test(above: int, n: int) -> float:
    """How likely it is that `above` or more of `n` lie beyond a threshold that is the median."""
    from scipy.special import bdtrc

    return float(bdtrc(above - 1, n, 0.5)) if above else 1.0


def constant(values: Array) -> bool:
    """Whether all values are the same up to rounding, so that their sd means nothing."""
    size = max(1.0, float(np.abs(values).max()))
    return float(values.max() - values.min()) <= _ROUNDING * size


def judge(values: Array, bar: Bar, alpha: float = ALPHA) -> Judgement:
    """The values of one metric, none missing, against its bar."""
    if bar.threshold is None:
        return Judgement(why="it has no threshold")
    n = len(values)
    if not n:
        return Judgement(verdict="undecided", why="no lifetime has a value")
    ahead = bar.sign * (values - bar.threshold)
    beyond = int(np.count_nonzero(ahead >= 0 if bar.inclusive else ahead > 0))
    # A tie speaks for neither side, even where a value at the threshold is good enough.
    share, sign_p = beyond / n, sign_test(int(np.count_nonzero(ahead > 0)), n)
    if n == 1:
        return Judgement(None, None, share, beyond, sign_p, "undecided", "one lifetime has no spread to judge by")
    if constant(values):
        return Judgement(None, None, share, beyond, sign_p, *_by_value(float(np.mean(ahead)), bar))
    sd = float(values.std(ddof=1))
    t, p = one_tailed_t(float(values.mean()), sd, n, bar.threshold, bar.sign)
    _, p_with_margin = one_tailed_t(float(values.mean()), sd, n, bar.threshold - bar.sign * bar.margin, bar.sign)
    why: str | None = None
    verdict: Verdict = "undecided"
    if p_with_margin < alpha:
        verdict = "met"
        why = f"within the margin of {bar.margin:g}" if p >= alpha else None
    elif 1 - p < alpha:
        verdict = "not met"
    said = _sign_said(p, sign_p, n, alpha)
    if said:
        why = f"{why}; {said}" if why else said
    return Judgement(t, p, share, beyond, sign_p, verdict, why)


def _sign_said(p: float, sign_p: float, n: int, alpha: float) -> str | None:
    """What to say where the two tests disagree."""
    if sign_p < alpha <= p:
        return f"the sign test says otherwise (p = {sign_p:.3g}): a few lifetimes weigh much in the mean"
    # At four lifetimes or fewer the sign test cannot reach .05, and its silence says nothing.
    if p < alpha <= sign_p and sign_test(n, n) < alpha:
        return f"the sign test does not confirm it (p = {sign_p:.3g})"
    return None


def _by_value(ahead: float, bar: Bar) -> tuple[Verdict, str]:
    """The verdict where every lifetime gave the same value, `ahead` of the threshold."""
    said = "all lifetimes gave the same value (sd 0), so t is undefined; the value itself decides"
    assert bar.threshold is not None
    near = _ROUNDING * max(1.0, abs(bar.threshold))
    if ahead + bar.margin > near:
        return "met", said
    return ("not met" if ahead < -near else "undecided"), said
