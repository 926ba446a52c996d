"""Settings: everything that decides a score beside the data, in one place that every output carries."""

from __future__ import annotations

import dataclasses
import os
import reprlib
from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import TYPE_CHECKING, Any, Literal

import msgspec

from perdure.arguments import held_to_signature
from perdure.errors import PerdureError, UnknownName
from perdure.files import UNPACKED_LIMIT
from perdure.frozen import frozen, replace
from perdure.settings import kinds
from perdure.settings.declare import MATRICES, METRICS, PREPARATION, READING, STATISTICS, Option, option
from perdure.settings.presets import STANDARD

if TYPE_CHECKING:
    from perdure.curves.model import Prep, Scale, Window
    from perdure.log.accuracy_matrix import Baseline, Unit
    from perdure.log.read import Options

__all__ = ["OPTIONS", "UNDECIDING", "Settings", "checked"]


@frozen(repr=False)
class Settings:
    """How lifetimes are read, scored and pooled; what is None comes from the log or the preset."""

    preset: str = option(
        STANDARD,
        "--preset",
        kinds.text("NAME"),
        "How to score; `perdure list presets` lists the presets.",
        decides=False,
    )
    measure: str | None = option(
        None,
        "--measure",
        kinds.measure(),
        "The measure to score, of all tasks or of each (the first declared).",
        otherwise="log",
        decides=False,
    )
    prep: Prep | None = None
    """A preparation in place of the preset's; what is given beside it still counts."""
    metrics: str | Sequence[str] = option(
        (),
        "--metrics",
        kinds.names("ID|FILE.py..."),
        "Score only these metrics; a Python file adds the ones it declares.",
        decides=False,
    )
    """Ids, which restrict what is scored, and Python files, which add to it."""
    aggregate: Literal["mean", "median"] = option(
        "mean", "--aggregate", kinds.choice("mean", "median"), "Average over tasks or over pairs.", METRICS
    )
    expert_average: Literal["metrics", "time"] = option(
        "metrics",
        "--expert-average",
        kinds.choice("metrics", "time"),
        "Average the values beside each expert, or the experts' curves first.",
        METRICS,
    )
    learned: Mapping[str, float] = option(
        {},
        "--learned",
        kinds.numbers_in_file(),
        'JSON {"task": performance} at which it counts as learned.',
        METRICS,
        decides=False,
    )
    """Task → the performance, as measured, at which it counts as learned."""
    variants: Literal["name", "params", "agnostic"] | None = option(
        None,
        "--variants",
        kinds.choice("name", "params", "agnostic", also={"aware": "name"}),
        "What counts as a task: each name (aware), each parameter set, or no variant.",
        PREPARATION,
        otherwise="log",
        prepares=True,
    )
    lower_is_better: bool | None = option(
        None,
        "--lower-is-better/--higher-is-better",
        kinds.yes_no(),
        "Treat lower values as better, such as for an error or a cost.",
        PREPARATION,
        otherwise="log",
    )
    scale: Scale | None = option(
        None,
        "--scale",
        kinds.choice("task", "run", "none"),
        "Scale each task by its own range, all by one, or not at all.",
        PREPARATION,
        prepares=True,
    )
    bounds: Mapping[str, tuple[float, float]] | None = option(
        None,
        "--bounds",
        kinds.bounds(),
        'JSON {"task": {"min": …, "max": …}}.',
        PREPARATION,
        otherwise="log",
        prepares=True,
    )
    window: Window | None = option(
        None,
        "--window",
        kinds.choice("flat", "hanning", "hamming", "bartlett", "blackman", "none"),
        "The smoothing window; also hamming, bartlett, blackman, none.",
        PREPARATION,
        prepares=True,
    )
    width: float | None = option(
        None,
        "--width",
        kinds.width(),
        "Window length in experiences, or as a share of the block (a fifth).",
        PREPARATION,
        prepares=True,
    )
    smooth_evaluation: bool | None = option(
        None,
        "--smooth-evaluation/--no-smooth-evaluation",
        kinds.yes_no(),
        "Smooth evaluations too.",
        PREPARATION,
        prepares=True,
    )
    clamp: bool | None = option(
        None,
        "--clamp/--no-clamp",
        kinds.yes_no(),
        "Clip values at the 10th and 90th percentile, or at the bounds.",
        PREPARATION,
        prepares=True,
    )
    noise: float | None = option(
        None, "--noise", kinds.number(0, metavar="SD"), "Add noise to the learner's values.", PREPARATION, prepares=True
    )
    columns: Mapping[str, str] = option(
        {},
        "--column",
        kinds.named_texts("OURS=THEIRS", "exp_num=episode"),
        "A column of your own table, e.g. exp_num=episode. Repeatable.",
        READING,
        otherwise="log",
        decides=False,
    )
    """Perdure's column name → the name in the file, for tables of one's own."""
    shape: Literal["long", "wide", "triplets"] | None = option(
        None,
        "--shape",
        kinds.choice("long", "wide", "triplets"),
        "Layout of a table, if its header does not show it.",
        READING,
        otherwise="log",
    )
    unverified: bool = option(
        False,
        "--unverified/--verified",
        kinds.yes_no(),
        "Also score logs that fail their integrity check.",
        READING,
    )
    max_unpacked: float = option(
        UNPACKED_LIMIT,
        "--max-unpacked",
        kinds.number(1, metavar="MIB"),
        "MiB that a packed file may unpack to (4096).",
        READING,
        decides=False,
    )
    rows: Literal["evaluated", "learned"] | None = option(
        None,
        "--rows",
        kinds.choice("evaluated", "learned"),
        "What the rows of a matrix stand for (--transposed: learned).",
        MATRICES,
        otherwise="log",
        also={"--transposed": "learned"},
    )
    unit: Unit | None = option(
        None,
        "--unit",
        kinds.choice("percent", "fraction", "raw"),
        "Unit of accuracies (default: percent if one exceeds 1).",
        MATRICES,
        otherwise="log",
    )
    as_given: bool = option(
        False,
        "--as-given/--no-as-given",
        kinds.yes_no(),
        "Treat zeros in a matrix as measured.",
        MATRICES,
        otherwise="log",
    )
    random_init: Baseline | None = option(
        None,
        "--random-init",
        kinds.baseline("--random-init"),
        "Accuracy of an untrained learner.",
        MATRICES,
        otherwise="log",
    )
    joint: Baseline | str | os.PathLike[str] | None = option(
        None,
        "--joint",
        kinds.baseline("--joint", lives=True),
        "Accuracy of a jointly trained learner, or its lifetimes.",
        MATRICES,
        otherwise="log",
    )
    group: str | None = option(
        None,
        "--group",
        kinds.text("PATTERN", "a regular expression"),
        "Group lifetimes by the first bracket of this regular expression in their ids.",
        STATISTICS,
        otherwise="log",
        decides=False,
    )
    pool: bool = option(
        False,
        "--pool/--no-pool",
        kinds.yes_no(),
        "Pool lifetimes of several arguments or folders.",
        STATISTICS,
        decides=False,
    )
    level: float = option(
        0.95,
        "--level",
        kinds.number(0.5, 0.999),
        "Confidence level of intervals and verdicts (0.95).",
        STATISTICS,
        decides=False,
    )
    margins: Mapping[str, float] = option(
        {},
        "--margin",
        kinds.named_numbers("ID=X", "forward_transfer=0.05"),
        "Margin X to subtract from a threshold. Repeatable.",
        STATISTICS,
        decides=False,
    )
    measures: Mapping[str, str] = field(default_factory=dict, hash=False)
    """Task → its own measure, by label or by its name without variant; empty where one serves all."""
    origins: Mapping[str, str] = field(default_factory=dict, hash=False, compare=False)
    """Setting → where it was given; what is not in it was given by a caller, or by nobody."""

    def __post_init__(self) -> None:
        # One name is a list of one, not of its letters.
        object.__setattr__(self, "metrics", (self.metrics,) if isinstance(self.metrics, str) else tuple(self.metrics))
        asked: object = self.measure
        if isinstance(asked, Mapping):
            object.__setattr__(self, "measures", {task.lower(): name for task, name in asked.items()})
            object.__setattr__(self, "measure", None)
        try:
            OPTIONS["level"].kind.read(self.level)
        except (TypeError, ValueError):
            raise PerdureError(f"level is {self.level!r}", f"give {OPTIONS['level'].kind.what}") from None
        for name, declared in OPTIONS.items():
            words, value = declared.kind.choices, getattr(self, name)
            if words and value is not None:
                if value not in words:
                    raise UnknownName(name, str(value), words)
                object.__setattr__(self, name, declared.kind.read(value))  # further words become the first

    def __repr__(self) -> str:
        told = [f"{name}={reprlib.repr(value)}" for name, value in self.given.items()]
        return f"Settings({', '.join([*told, *(['prep=…'] if self.prep else [])])})"

    @property
    def ids(self) -> tuple[str, ...]:
        """The metrics that were asked for by name."""
        return tuple(one for one in self.metrics if not one.endswith(".py"))

    @property
    def files(self) -> tuple[str, ...]:
        """The Python files of metrics."""
        return tuple(one for one in self.metrics if one.endswith(".py"))

    @property
    def given(self) -> dict[str, Any]:
        """What differs from the defaults."""
        plain = {one.name: _default(one) for one in dataclasses.fields(self) if one.name in OPTIONS}
        found = {name: getattr(self, name) for name in OPTIONS}
        return {name: value for name, value in found.items() if value != plain[name]} | (
            {"measure": self.measures} if self.measures else {}
        )

    def prepared(self, prep: Prep) -> Prep:
        """The preparation `prep`, a preset's, or the one given in its place, with what was given beside it."""
        changed = {name: value for name, value in self.given.items() if OPTIONS[name].prepares}
        return replace(self.prep or prep, **changed)

    def reading(self) -> Options:
        """How logs are to be read."""
        from perdure.log.read import Options

        return Options(
            columns=self.columns,
            verified=not self.unverified,
            shape=self.shape,
            rows=self.rows,
            unit=self.unit,
            as_given=self.as_given,
            measure=self.measure,
            max_unpacked=self.max_unpacked,
        )

    def sources(self) -> dict[str, str]:
        """Every setting → where its value comes from."""
        given = self.given
        return {
            name: self.origins.get(name) or ("caller" if name in given else declared.otherwise)
            for name, declared in OPTIONS.items()
        }

    def as_json(self, prep: Prep) -> dict[str, Any]:
        """Every setting by the name of its field, with the preparation as it was really done."""
        steps = msgspec.structs.asdict(prep)
        counted = steps.pop("unit")
        found = {name: _plain(getattr(self, name)) for name in OPTIONS}
        bounds = {task: {"min": low, "max": high} for task, (low, high) in (prep.bounds or {}).items()}
        return {
            **found,
            **steps,
            "measure": dict(self.measures) or self.measure,
            "bounds": bounds if prep.bounds is not None else None,
            "counted": counted,
        }


def _default(one: dataclasses.Field[Any]) -> Any:
    return one.default if one.default_factory is dataclasses.MISSING else one.default_factory()


OPTIONS: Mapping[str, Option] = {
    one.name: one.metadata["option"] for one in dataclasses.fields(Settings) if "option" in one.metadata
}
"""Every setting that can be given, by its key, in the order in which help shows them."""

# A measure may also be given by task, which then stands in `measures`; of choices the further words are taken too.
_ELSEWHERE = ("measure", *(name for name, declared in OPTIONS.items() if declared.kind.choices))
Settings.__init__ = held_to_signature("perdure.Settings", but=_ELSEWHERE)(Settings.__init__)  # type: ignore[method-assign]

UNDECIDING = frozenset(name for name, declared in OPTIONS.items() if not declared.decides)
"""Settings that may differ between lifetimes that are pooled."""


_NOT_IN_FILES = ("unverified", "max_unpacked")  # whoever made the data does not decide how far it is trusted


def checked(
    content: Mapping[str, Any], file: object, lines: Mapping[str, int] | None = None, where: str | None = None
) -> dict[str, Any]:
    """The settings of a file, by key; what is wrong is named with its key, and with its line where that is known.

    A file that lies beside data, or travels with a protocol, may not make Perdure run code.
    """
    found: dict[str, Any] = {}
    for key, value in content.items():
        try:
            found[key] = _checked(key, value)
        except PerdureError as problem:
            raise problem.at(file=file, line=(lines or {}).get(key), where=where) from None
    return found


def _checked(key: str, value: Any) -> Any:
    if key not in OPTIONS:
        raise UnknownName("key", key, OPTIONS)
    if key in _NOT_IN_FILES:
        raise PerdureError(
            f"{key!r} can only be set on the command line, not in a file beside the data",
            f"remove it here, and give {OPTIONS[key].flag}",
        )
    try:
        found = OPTIONS[key].kind.read(value)
    except ValueError:
        raise PerdureError(f"{key!r} is {value!r}", f"expected {OPTIONS[key].kind.what}") from None
    files = [one for one in found if one.endswith(".py")] if key == "metrics" else []
    if files:
        raise PerdureError(
            f"{key!r} names the Python file {files[0]!r}, and a file of settings runs no code",
            f"name metrics by their ids here, and give the file by {OPTIONS[key].flag}",
        )
    return found


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return dict(value)
    return list(value) if isinstance(value, Sequence) and not isinstance(value, str) else value
