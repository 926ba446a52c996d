"""What a metric is: where it can be read, how, and what its value means."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from textwrap import shorten
from typing import Any, Literal, Self, get_type_hints

import msgspec

from perdure.curves.model import Curves, Twin
from perdure.errors import MetricError
from perdure.scenario.model import Scenario
from perdure.scenario.sites import Site
from perdure.settings.presets import STANDARD

CONTINUAL, ADAPTING = "continual learning", "adapting to new tasks"
"""The two Core Capabilities that syllabi of 2019 ask about."""

Aggregate = Literal["mean", "median"]
Combine = Callable[[Sequence[Sequence[float]], Aggregate], "float | Value"]
"""The values of each key, in order, none empty → the lifetime's value; their logarithms on a log scale, and back."""
Sites = Callable[[Scenario], Iterator[Site]]
Better = Literal["higher", "lower"]
Headline = Literal["log", "matrix", ""]
AveragedAs = Literal["log", "linear"]


Question = Literal["", "keeps", "helps", "beside", "recovers", "does"]
"""Question that a metric answers; empty if it answers none and is shown only among all metrics."""

QUESTIONS: dict[Question, str] = {
    "keeps": "Does it keep what it learns?",
    "helps": "Does learning one task help another?",
    "beside": "Beside single-task experts",
    "recovers": "How fast does it recover?",
    "does": "How well does it do?",
}
"""Questions in the order in which answers are shown."""


class Words(msgspec.Struct, frozen=True):
    """Words for a metric's verdict, the sentence they appear in, and the title of its column."""

    better: str = "above"
    worse: str = "below"
    who: str = ""
    does: str = ""
    """Text after `who`, with `{}` for the word; metrics with the same `who` and `than` share a sentence."""
    than: str = ""
    of_change: bool = False
    """Whether it is a change of what was learned, so that the threshold has a word too: gains, keeps, loses."""
    asks: str = ""
    """Title of its column in tables that compare learners; without it there is no column."""
    about: str = ""
    """Subtitle of that column: the unit of its values."""
    spelled: str = ""
    """Its name without abbreviations."""
    pairs: str = ""
    """For a metric of ordered pairs of tasks, the meaning of each value; without it no matrix of pairs is shown."""

    def sentence(self, word: str) -> str:
        """Return the sentence that the word stands for; an empty text if none is declared."""
        return " ".join(part for part in (self.who, self.does.format(word), self.than) if part) if self.does else ""


_FLAG = r"(?s)\d+ of \d+ left out: (?P<why>.*)|(?P<about>.*) \(\d+ of \d+ values\)"


class Flag(str):
    """A remark on a metric's value, with the number of values it holds for."""

    about: str
    """The remark without the counts."""
    left_out: bool
    """Whether it is the reason for missing values."""

    def __new__(cls, text: str, about: str = "", *, left_out: bool = False) -> Self:
        made = super().__new__(cls, text)
        made.about, made.left_out = about or text, left_out
        return made

    @classmethod
    def of_some(cls, about: str, count: int, total: int) -> Self:
        """Return a remark that holds for some of the values only."""
        return cls(f"{about} ({count} of {total} values)", about)

    @classmethod
    def of_missing(cls, why: str, count: int, total: int) -> Self:
        """Return the reason why some values are missing."""
        return cls(f"{count} of {total} left out: {why}", f"left out: {why}", left_out=True)

    @classmethod
    def read(cls, text: str) -> Self:
        """Read a flag as score files hold it."""
        found = re.fullmatch(_FLAG, text)
        if found is None:
            return cls(text)
        if found["about"] is not None:
            return cls(text, found["about"])
        return cls(text, f"left out: {found['why']}", left_out=True)


class NoValue(Exception):  # noqa: N818 — a public name
    """Raised by a formula where its site has no value; the reason is said in words."""

    def __init__(self, why: str) -> None:
        super().__init__(why)
        self.why = why


class Value(msgspec.Struct, frozen=True):
    """A formula's result with flags: what a reader of the number should know, in words."""

    value: float
    flags: tuple[str, ...] = ()


class Context(msgspec.Struct, frozen=True):
    """What a formula may need besides the curves: baselines that a user gave, and how experts are averaged."""

    baselines: Mapping[str, Any] = msgspec.field(default_factory=dict)
    """By name, e.g. `random_init` and `joint` (a number, or one per task)."""
    expert_average: Literal["metrics", "time"] = "metrics"


class Good(msgspec.Struct, frozen=True):
    """What a document calls a good value, in its words; it decides nothing."""

    words: str
    above: float | None = None
    """On a scale of 100, where the document gives a number."""


class Bar(msgspec.Struct, frozen=True):
    """What a metric is held against: beyond `threshold` lies lifelong learning."""

    threshold: float | None = None
    margin: float = 0.0
    better: Better = "higher"
    inclusive: bool = False
    """Whether a single value at the threshold itself counts as beyond it."""
    headline: Headline = ""
    """Of what it is a headline number; only those get a verdict."""
    scale: AveragedAs = "linear"
    """On what scale lifetimes are averaged and compared; ratios on logarithms."""
    expert: bool = False
    """Whether its values depend on experts, which are a sample as lifetimes are."""
    margin_given: bool = False
    """Whether somebody set the margin; one that was declared is meant on a scale of 100."""
    words: Words | None = None
    """How its verdict is said; None where nobody declared it."""

    @property
    def sign(self) -> float:
        """1 where higher is better, −1 where lower is."""
        return 1.0 if self.better == "higher" else -1.0


Adapter = Callable[[Curves, Site, Context], Any]


def _twin(curves: Curves) -> Twin:
    if curves.twin is None:
        raise NoValue("needs a stateless twin: set twin = true in the protocol")
    return curves.twin


ADAPTERS: dict[Any, Adapter] = {
    Curves: lambda curves, _site, _context: curves,
    Site: lambda _curves, site, _context: site,
    Context: lambda _curves, _site, context: context,
    Twin: lambda curves, _site, _context: _twin(curves),
}
"""Role type → what builds it. `Curve`, `Expert` and their tuples are the engine's own."""


_WRITTEN, _WEAKNESS = "$$", "Weakness:"
_INITIALS = r"\(([A-Z][A-Z-]+)\)\.?$"


class Metric(msgspec.Struct, frozen=True, eq=False, dict=True, weakref=True):
    """One number about a lifetime: where it is read, the formula, and what the value means."""

    name: str
    formula: Callable[..., float | Value]
    sites: Sites
    combine: Combine
    summary: str
    """The first line of the formula's docstring."""
    needs: str
    """What the scenario needs so that there is a site."""
    unit: str = ""
    better: Better = "higher"
    threshold: float | None = None
    """Lifelong learning is demonstrated beyond it; None where the number has no verdict."""
    inclusive: bool = False
    """Whether the threshold itself demonstrates it."""
    margin: float = 0.0
    margin_given: bool = False
    """Whether somebody set the margin; a declared one is meant on a scale of 100."""
    condition: str = ""
    capability: str = ""
    expert: bool = False
    """Whether it needs experts."""
    joint: bool = False
    """Whether it needs what a learner of all tasks together achieves."""
    source: str = ""
    preset: str = STANDARD
    """The preset whose own metric this is."""
    aliases: tuple[str, ...] = ()
    """Other names under which it may be asked for, in any capitals; outputs use `name` alone."""
    of_matrix: str = ""
    """Of a metric of logs: what asks the same of an accuracy matrix."""
    good: Good | None = None
    """What a document calls a good value of it."""
    headline: Headline = ""
    """Of what it is one of the few numbers to lead with: a log, an accuracy matrix, or nothing."""
    scale: AveragedAs = "linear"
    """What is averaged, over sites and over lifetimes: values, or their logarithms; shown are values either way."""
    variant_of: str = ""
    """The metric that asks the same in another way, or nothing."""
    question: Question = ""
    """Which of a reader's questions it answers; those are shown first."""
    words: Words | None = None
    """How its verdict is said; None for above and below."""
    compares: tuple[str, str] | None = None
    """Of a metric that holds two evaluations against each other: the roles of the later and of the earlier one."""
    answers: Mapping[str, str] = msgspec.field(default_factory=dict)
    """Core Capability of 2019 → the question that it answers for it."""

    def __repr__(self) -> str:
        told = "" if self.threshold is None else f", threshold {self.threshold:g}"
        return f"Metric({self.name!r}, {self.better} is better{told}: {shorten(self.summary, 80, placeholder=' …')})"

    @cached_property
    def roles(self) -> Mapping[str, Any]:
        """The formula's parameters and their types, in order."""
        names, there = parameters(self.formula), getattr(self.formula, "__globals__", {})
        said = [getattr(self.formula, "__annotations__", {}).get(name) for name in names]
        if not hasattr(self.formula, "__wrapped__") and all(isinstance(one, str) and one in there for one in said):
            return dict(zip(names, map(there.get, said), strict=True))  # names and no more, as most are
        try:
            hints = get_type_hints(self.formula)
        except Exception as problem:
            raise MetricError(
                f"the annotations of its formula cannot be resolved ({problem})",
                "import Curve and the like where the formula can see them",
                where=f"metric {self.name!r}",
            ) from problem
        return {name: hints.get(name) for name in names}

    @cached_property
    def _paragraphs(self) -> tuple[str, ...]:
        """What follows the first line of the formula's docstring, each paragraph in one line."""
        paragraphs = (inspect.getdoc(self.formula) or "").split("\n\n")[1:]
        return tuple(" ".join(one.split()) for one in paragraphs)

    @property
    def equation(self) -> str:
        """The value at one site (of a matrix, of the lifetime) as LaTeX: the docstring's `$$…$$`; or nothing."""
        written = (one for one in self._paragraphs if one.startswith(_WRITTEN) and one.endswith(_WRITTEN))
        return next(written, "").strip(_WRITTEN)

    @property
    def weakness(self) -> str:
        """What it cannot tell or is misled by: the docstring's paragraph that begins with `Weakness:`; or nothing."""
        found = (one for one in self._paragraphs if one.startswith(_WEAKNESS))
        return next(found, "").removeprefix(_WEAKNESS).strip()

    @property
    def initials(self) -> str:
        """How papers write it, `BWT`: what its summary ends with in brackets; or nothing."""
        found = re.search(_INITIALS, self.summary)
        return found[1] if found else ""

    @property
    def spelled(self) -> str:
        """Its name for people, without abbreviation."""
        return (self.words.spelled if self.words else "") or self.name.replace("_", " ")

    @property
    def remarks(self) -> tuple[str, ...]:
        """The docstring's other paragraphs."""
        return tuple(one for one in self._paragraphs if not one.startswith((_WRITTEN, _WEAKNESS)))

    @property
    def held_against(self) -> Bar:
        """What its values are held against, as data."""
        return Bar(
            self.threshold,
            self.margin,
            self.better,
            self.inclusive,
            self.headline,
            self.scale,
            self.expert,
            self.margin_given,
            self.words,
        )

    @property
    def bar(self) -> str:
        """What a value is held against, as every table shows it: `> 1`, `≥ 0`, `> 0 − 2` with a margin; or nothing."""
        if self.threshold is None:
            return ""
        higher = self.better == "higher"
        sign = ("≥" if higher else "≤") if self.inclusive else (">" if higher else "<")
        margin = f" {'−' if higher else '+'} {self.margin:g}" if self.margin else ""
        return f"{sign} {self.threshold:g}{margin}"


def parameters(formula: Callable[..., Any]) -> tuple[str, ...]:
    """The names of a formula's parameters; a plain function is asked directly, which is thirty times as fast."""
    code = getattr(formula, "__code__", None)
    if code is None or hasattr(formula, "__wrapped__"):
        return tuple(inspect.signature(formula).parameters)
    names: tuple[str, ...] = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    return names
