"""Recompute Tables F.19, 14 and 15 of Baker et al. 2023, compare, and mark the errors of the paper.

Run as `python examples/published/recompute.py`. Means and sds come from Tables 6–9 and 12; a cell that is illegible in
our copy is None. If the paper does not state the number of lifetimes, it is derived from its t and p.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product

from scipy.stats import t as student  # type: ignore[import-untyped]

METRICS = ("PM", "FT", "BT", "RP", "SE")


@dataclass(frozen=True)
class Printed:
    """One cell of the tables: mean ± sd as printed, the t of Table F.19, the p of Table 14."""

    text: str | None
    t: float | None
    """None where the paper prints NaN."""
    p: float
    p_below: bool = False
    """Printed as `< 10⁻⁶`."""

    @property
    def numbers(self) -> tuple[float, float, float] | None:
        """Mean, sd, and half a unit of their last digit; None if illegible."""
        if self.text is None:
            return None
        mean, sd = self.text.split(" ± ")
        return float(mean), float(sd), 0.5 * 10.0 ** -max(len(number.partition(".")[2]) for number in (mean, sd))


@dataclass(frozen=True)
class Configuration:
    """One row: a system, its number of lifetimes, and its five metrics."""

    group: str
    name: str
    n: int
    """As stated, or the only one for which the printed t give the printed p."""
    cells: tuple[Printed, ...]
    note: str = ""
    population_sd: bool = False
    """Whether its sds were printed with n in the denominator, where t takes n − 1."""


_TINY = 1e-6


def _row(
    group: str,
    name: str,
    n: int,
    texts: tuple[str | None, ...],
    ts: tuple[float | None, ...],
    ps: tuple[float, ...],
    note: str = "",
    *,
    population_sd: bool = False,
) -> Configuration:
    """A p of 1e-6 stands for the `< 10⁻⁶` of the paper."""
    cells = tuple(Printed(text, t, p, p == _TINY) for text, t, p in zip(texts, ts, ps, strict=True))
    return Configuration(group, name, n, cells, note, population_sd)


_LOST = (None,) * 5

CONFIGURATIONS = (
    _row("UPenn", "DF-CNN", 36, ("-0.44 ± 1.12", "1.01 ± 0.09", "0.99 ± 0.02", "1.94 ± 0.26", "1.61 ± 0.12"),
         (-2.36, 0.63, -2.24, 22.00, 29.41), (1.20e-2, 2.67e-1, 1.58e-2, _TINY, _TINY)),
    _row("UPenn", "META-KFO", 36, ("-20.81 ± 15.22", "1.00 ± 0.00", "0.91 ± 0.07", "2.38 ± 0.40", "3.40 ± 0.46"),
         (-8.20, None, -7.99, 20.83, 31.47), (_TINY, 1.00, _TINY, _TINY, _TINY)),
    _row("UPenn", "RL M12", 4, ("-60.1 ± 21.5", "0.89 ± 0.80", "1.2 ± 1.56", "0.75 ± 0.07", "0.66 ± 0.27"),
         (-5.59, -0.28, 0.26, -7.14, -2.52), (5.65e-3, 4.01e-1, 4.07e-1, 2.83e-3, 4.31e-2),
         "the paper prints FT's sd as −0.80"),
    _row("UPenn", "RL M15", 12, ("-14.0 ± 20.5", "1.95 ± 0.97", "1.19 ± 0.16", "0.75 ± 0.06", "1.88 ± 1.96"),
         (-2.37, 3.39, 4.11, -14.43, 1.56), (1.86e-2, 3.02e-3, 8.65e-4, _TINY, 7.35e-2)),
    _row("UPenn", "RL M18", 11, ("4.4 ± 11.3", "3.11 ± 2.36", "1.11 ± 0.07", "0.88 ± 0.03", "0.83 ± 0.03"),
         (0.99, 2.97, 5.21, -13.27, -18.7), (1.71e-1, 7.02e-3, 1.98e-4, _TINY, _TINY)),
    _row("Teledyne", "C5 Ablated", 12, ("1.68 ± 0.36", "10.47 ± 0.23", "1.02 ± 0.02", "1.01 ± 0.03", "2.33 ± 0.74"),
         (1.98, 79.33, 0.72, 2.71, 3.55), (3.68e-2, _TINY, 2.42e-1, 1.01e-2, 2.29e-3),
         "its t follow from the UML row of Table 8, not from its own"),
    _row("Teledyne", "UML", 12, ("0.56 ± 0.98", "11.69 ± 0.47", "1.00 ± 0.01", "1.03 ± 0.04", "2.74 ± 1.70"),
         (2.82, 72.01, 3.15, 1.80, 3.13), (8.35e-3, _TINY, 4.59e-3, 4.96e-2, 4.76e-3),
         "its t follow from neither row of Table 8"),
    _row("HRL", "Condensed", 33, _LOST,
         (-0.23, 12.67, 4.00, 6.42, 3.67), (5.90e-1, _TINY, 1.74e-4, _TINY, 4.32e-4)),
    _row("HRL", "Dispersed", 30, ("-2.21 ± 3.16", "10.71 ± 2.78", "1.10 ± 0.15", "1.85 ± 0.71", "6.25 ± 3.12"),
         (-3.77, 18.78, 4.10, 6.49, 9.06), (1.00, _TINY, 1.53e-4, _TINY, _TINY),
         "its sds are those of the population, so t is taken with sd · √(n/(n − 1)); BT's printed t does not follow",
         population_sd=True),
    _row("HRL", "SCP Ablation", 15, _LOST,
         (0.25, 10.75, 3.45, 9.10, 5.87), (4.00e-1, _TINY, 2.00e-3, _TINY, 2.03e-5)),
    _row("Argonne", "L2Explorer", 13, _LOST,
         (-1.31, 8.65, 2.93, 1.20, 1.20), (1.07e-1, _TINY, 6.31e-3, 1.26e-1, 1.26e-1)),
    _row("Argonne", "Roundworld", 12, _LOST,
         (5.20, 6.93, 2.80, 4.08, 16.63), (1.48e-4, 1.20e-5, 8.57e-3, 9.17e-4, _TINY)),
    _row("SRI", "M12 Condensed", 12, ("-3.70 ± 2.5", None, None, None, None),
         (-5.13, 8.31, -0.12, -2.36, 6.77), (1.00, 2.28e-6, 5.46e-1, 9.81e-1, 4.09e-5)),
    _row("SRI", "M15 Condensed", 24, ("-5.68 ± 5.04", "1.42 ± 0.25", "1.14 ± 0.28", "1.18 ± 0.19", "19.37 ± 5.76"),
         (-5.52, 8.31, 2.46, 4.57, 15.31), (1.00, _TINY, 1.10e-2, 6.88e-5, _TINY)),
    _row("SRI", "M18 Condensed", 15, ("-3.05 ± 1.76", None, None, None, None),
         (-6.73, 15.31, 0.62, 5.72, 10.95), (1.00, _TINY, 2.73e-1, 2.66e-5, _TINY)),
    _row("SRI", "M12 Alternating", 15, ("-7.44 ± 6.19", None, None, None, None),
         (-4.66, 1.05, -3.53, -5.57, 6.15), (1.00, 1.55e-1, 9.98e-1, 1.00, 1.25e-5)),
    _row("SRI", "M15 Alternating", 24, ("-8.82 ± 7.95", "1.13 ± 0.57", "0.80 ± 0.19", "0.90 ± 0.11", "7.11 ± 3.52"),
         (-5.44, 1.15, -5.09, -4.84, 8.51), (1.00, 1.32e-1, 1.00, 1.00, _TINY)),
    _row("SRI", "M18 Alternating", 12, ("-6.13 ± 7.31", None, None, None, None),
         (-2.91, 2.13, -2.31, -2.52, 5.09), (9.93e-1, 2.82e-2, 9.80e-1, 9.86e-1, 1.76e-4)),
)  # fmt: skip

CORRELATIONS = (
    ("PM", "FT", 0.06, 0.60),
    ("PM", "BT", 0.33, 0.003),
    ("PM", "RP", -0.20, 0.07),
    ("PM", "SE", -0.25, 0.03),
    ("FT", "BT", -0.09, 0.44),
    ("FT", "RP", 0.45, 0.00003),
    ("FT", "SE", 0.01, 0.93),
    ("BT", "RP", -0.15, 0.19),
    ("BT", "SE", -0.16, 0.14),
    ("RP", "SE", 0.36, 0.001),
)
"""Table 15: pair, Spearman ρ, p. The number of lifetimes is not printed; 80 gives every p, up to the rounding of ρ."""

THRESHOLDS = dict(zip(METRICS, (0.0, 1.0, 1.0, 1.0, 1.0), strict=True))
LIFETIMES_OF_TABLE_15 = 80


@dataclass(frozen=True)
class Cell:
    """One metric of one configuration: printed and computed values."""

    configuration: Configuration
    metric: str
    printed: Printed
    t: float | None
    """From the printed mean, sd and n; None where these are lost or sd is 0."""
    t_range: tuple[float, float] | None
    """Range of t, given the rounding of the mean and the sd."""
    p: float | None
    """One-tailed ("greater"), from the printed t and n."""

    @property
    def t_agrees(self) -> bool | None:
        """Whether the printed t can follow from the printed mean and sd; None if that is unknown."""
        if self.t_range is None or self.printed.t is None:
            return None
        low, high = self.t_range
        return bool(low - 0.005 <= self.printed.t <= high + 0.005)

    @property
    def wrong_tail(self) -> bool:
        """Whether the paper prints the p of the other tail."""
        if self.p is None or self.printed.t is None or self.printed.t >= 0:
            return False
        return _close(self.printed, 1 - self.p) and not _close(self.printed, self.p)

    @property
    def p_agrees(self) -> bool | None:
        """Whether the printed p follows from the printed t and n."""
        return None if self.p is None else _close(self.printed, self.p)

    @property
    def passes(self) -> bool:
        """Whether the metric is above its threshold at .05."""
        return self.p is not None and self.p < 0.05


def cells() -> Iterator[Cell]:
    """Yield every metric of every configuration, in the order of Table 14."""
    for configuration in CONFIGURATIONS:
        for metric, printed in zip(METRICS, configuration.cells, strict=True):
            yield _cell(configuration, metric, printed)


def _cell(configuration: Configuration, metric: str, printed: Printed) -> Cell:
    n, threshold = configuration.n, THRESHOLDS[metric]
    t, t_range, p = None, None, None
    if printed.numbers is not None and printed.numbers[1] > 0:
        mean, sd, half = printed.numbers
        corrected = (n / (n - 1)) ** 0.5 if configuration.population_sd else 1.0
        t = _t(mean, sd * corrected, n, threshold)
        corners = [
            _t(mean + a * half, max(sd + b * half, 1e-9) * corrected, n, threshold)
            for a, b in product((-1, 1), (-1, 1))
        ]
        t_range = min(corners), max(corners)
    if printed.t is not None:
        p = float(student.sf(printed.t, n - 1))
    return Cell(configuration, metric, printed, t, t_range, p)


def _t(mean: float, sd: float, n: int, threshold: float) -> float:
    return float((mean - threshold) / (sd / n**0.5))


def _correlation_p(rho: float, n: int) -> float:
    return float(2 * student.sf(abs(rho) * ((n - 2) / (1 - rho**2)) ** 0.5, n - 2))


def _close(printed: Printed, p: float) -> bool:
    """Return whether a printed p equals `p`, allowing for the rounding of t to two digits."""
    if printed.p_below:
        return p < 1.5e-6
    if printed.p == 1.0:
        return p > 0.99
    return abs(printed.p - p) <= max(0.05 * printed.p, 0.005 if printed.p > 0.01 else 0.0)


def main() -> None:
    """Print the three tables."""
    all_cells = list(cells())
    print("t as Table F.19 prints it | as it follows from the printed mean, sd and n;")
    print("one-tailed p as Table 14 prints it | as it follows from the printed t and n")
    print(f"{'configuration':<26} {'n':>3} " + " ".join(f"{metric:^33}" for metric in METRICS))
    for start in range(0, len(all_cells), len(METRICS)):
        row = all_cells[start : start + len(METRICS)]
        first = row[0].configuration
        print(f"{first.group + ' ' + first.name:<26} {first.n:>3} " + " ".join(f"{_text(cell):<33}" for cell in row))
    print("! the p of the wrong tail   ? t does not follow from the printed mean and sd   × p does not follow from t")
    for configuration in CONFIGURATIONS:
        if configuration.note:
            print(f"  {configuration.group} {configuration.name}: {configuration.note}")
    passed = {metric: sum(cell.passes for cell in all_cells if cell.metric == metric) for metric in METRICS}
    counted = ", ".join(f"{metric} {count}" for metric, count in passed.items())
    print(f"\nAbove the threshold at .05 with the right tail: {sum(passed.values())} of {len(all_cells)} ({counted}).")
    print("The paper says 52 of 90 in its text and 45 of 85 under Table 14.")
    low, high = student.interval(0.95, 23, -5.68, 5.04 / 24**0.5)
    print(
        f"\nTable 13 calls 2.13 a standard error of M15's PM: 5.04/√24 = {5.04 / 24**0.5:.2f} is that; "
        f"{float(high - low) / 2:.2f} is half the 95 % interval."
    )
    print(f"\nTable 15: Spearman's ρ, p theirs | ours for {LIFETIMES_OF_TABLE_15} lifetimes")
    for first_metric, second, rho, p in CORRELATIONS:
        print(f"  {first_metric} {second}  {rho:>6.2f}  {p:<8g}| {_correlation_p(rho, LIFETIMES_OF_TABLE_15):.2g}")


def _text(cell: Cell) -> str:
    t = "NaN" if cell.printed.t is None else f"{cell.printed.t:.2f}"
    computed = "–" if cell.t is None else f"{cell.t:.2f}"
    p = "<1e-6" if cell.printed.p_below else f"{cell.printed.p:.3g}"
    right = "–" if cell.p is None else "<1e-6" if cell.p < 1e-6 else f"{cell.p:.3g}"
    marks = ("!" if cell.wrong_tail else "×" if cell.p_agrees is False else "") + (
        "?" if cell.t_agrees is False else ""
    )
    return f"{t} | {computed}; {p} | {right} {marks}"


if __name__ == "__main__":
    main()
