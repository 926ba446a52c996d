"""Settings: everything that decides a score apart from the data. Every output contains them."""

from __future__ import annotations

import inspect
import os
import reprlib
from collections.abc import Callable, Mapping, Sequence
from functools import partial, reduce
from operator import or_
from types import NoneType, UnionType
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self, TypedDict, Union, get_args, get_origin, get_type_hints

import msgspec
from msgspec import Meta

from perdure.errors import PerdureError, UnknownNameError
from perdure.files import UNPACKED_LIMIT
from perdure.settings.option import (
    Option,
    fold_names,
    parse_baseline,
    parse_joint,
    parse_list,
    parse_measure,
    parse_number_pairs,
    parse_pairs,
    read_bounds,
    read_list,
    read_width,
)
from perdure.settings.presets import STANDARD

if TYPE_CHECKING:
    from perdure.curves.model import Preparation
    from perdure.log.read import Options
else:
    Preparation = Any  # its module imports NumPy, which a list of options does not need


PREPARATION = "Preparation"
METRICS = "Metrics"
MATRICES = "Accuracy matrices"
READING = "Reading"
STATISTICS = "Statistics"

Ends = Annotated[
    dict[str, float],
    Meta(extra_json_schema={"required": ["min", "max"], "propertyNames": {"enum": ["min", "max"]}}),
]
Baseline = float | Sequence[float] | Mapping[str, float]


class Settings(msgspec.Struct, frozen=True):
    """Settings of reading, scoring and pooling lifetimes. None is the value of the log or of the preset.

    Attributes
    ----------
    preset
        Name of a preset; `perdure list presets` lists them.
    measure
        Measure to score, for all tasks, or a mapping from task to measure. By default the first one declared.
    measure_for
        Metric → its measure, if it is not that of the other metrics.
    prep
        Preparation in place of the preset's. Other settings change it.
    metrics
        Ids of the metrics to score, and Python files that declare further ones. By default all of the preset.
    aggregate
        Average over tasks or over pairs.
    expert_average
        Average the values per expert, or the experts' curves first.
    weights
        Task → its importance in every mean over tasks, by label or by name without variant. Others have 1.
    learned
        Task → the performance, as measured, at which it counts as learned.
    variants
        Whether variants of a task are separate tasks.
    lower_is_better
        Whether lower values of the measure are better.
    scale
        Scale by the range of each task, by that of the run, or not.
    bounds
        Task → its lowest and highest value.
    window
        Shape of the smoothing window.
    width
        Width of the window in experiences, or below 1 a share of the block.
    smooth_evaluation
        Whether evaluations are smoothed too.
    clamp
        Whether values are clipped at the 10th and 90th percentile, or at the bounds.
    noise
        Standard deviation of noise that is added to the learner's values.
    columns
        Perdure's column name → the name in a table of your own. Names: ``task_name``, ``block_type``, ``block_num``,
        ``exp_num``, ``lifetime``, ``learner``, ``seed``.
    shape
        Layout of a table, if its header does not show it.
    unverified
        Whether logs that fail their integrity check are scored.
    max_unpacked
        Largest size in MiB that a packed file may unpack to.
    rows
        Meaning of the rows of an accuracy matrix.
    unit
        Unit of accuracies. By default percent if one exceeds 1.
    as_given
        Whether zeros in an accuracy matrix were measured.
    random_init
        Accuracy of an untrained learner.
    joint
        Accuracy of a jointly trained learner, or the path of its lifetimes.
    group
        Regular expression whose first bracket names the group of a lifetime id.
    pool
        Whether lifetimes of several arguments or folders are pooled.
    level
        Confidence level of intervals and verdicts.
    margins
        Metric → the margin that is subtracted from its threshold.
    measures
        Task → its measure, by label or by name without variant. Empty if all tasks have the same measure.
    origins
        Setting → its source. Settings that are missing here were given by a caller, or not at all.

    Examples
    --------
    >>> settings = perdure.Settings(measure="accuracy", window="none")
    >>> perdure.score("logs/naive-0", settings=settings).tasks
    ('a', 'b')
    """

    preset: Annotated[
        str,
        Option(
            "--preset",
            "How to score: see `perdure list presets`.",
            metavar="NAME",
            words="a text",
            decides=False,
        ),
    ] = STANDARD
    measure: Annotated[
        str | None,
        Option(
            "--measure",
            "Measure to score, for all tasks or per task (default: the first one).",
            metavar="NAME|TASK=NAME,…",
            words="a name, or TASK=NAME for each task, as in pong=reward,battle=units",
            otherwise="log",
            decides=False,
            parse=parse_measure,
            type=str | Mapping[str, str],
        ),
    ] = None
    measure_for: Annotated[
        Mapping[str, str],
        Option(
            "--measure-for",
            "Measure of one metric, if not that of the others. Repeatable.",
            METRICS,
            metavar="ID=NAME",
            words="ID=NAME, as in forward_transfer=units_defeated",
            parse=parse_pairs,
        ),
    ] = {}
    prep: Preparation | None = None
    metrics: Annotated[
        str | Sequence[str],
        Option(
            "--metrics",
            "Metrics to score; a Python file adds its own.",
            metavar="ID|FILE.py...",
            words="a list of texts",
            decides=False,
            normalise=read_list,
            parse=parse_list,
        ),
    ] = ()
    aggregate: Annotated[
        Literal["mean", "median"], Option("--aggregate", "Average over tasks or over pairs.", METRICS)
    ] = "mean"
    expert_average: Annotated[
        Literal["metrics", "time"],
        Option("--expert-average", "Average the values beside each expert, or the experts' curves first.", METRICS),
    ] = "metrics"
    weights: Annotated[
        Mapping[str, Annotated[float, Meta(gt=0)]],
        Option(
            "--weight",
            "Importance of tasks in means over tasks (1 each). Repeatable.",
            METRICS,
            metavar="TASK=X,…",
            words="TASK=X with a finite X above 0, as in pong=2,breakout=1",
            normalise=fold_names,
            parse=parse_number_pairs,
        ),
    ] = {}
    learned: Annotated[
        Mapping[str, float],
        Option(
            "--learned",
            'JSON file {"task": performance}: the level at which a task counts as learned.',
            METRICS,
            metavar="FILE",
            words='a finite number for each task: {"task": 0.8}',
            decides=False,
            normalise=fold_names,
            in_file=True,
        ),
    ] = {}
    variants: Annotated[
        Literal["name", "params", "agnostic"] | None,
        Option(
            "--variants",
            "What counts as a task: each name (aware), each parameter set, or no variant.",
            PREPARATION,
            otherwise="log",
            prepares=True,
            synonyms={"aware": "name"},
        ),
    ] = None
    lower_is_better: Annotated[
        bool | None,
        Option(
            "--lower-is-better/--higher-is-better",
            "Treat lower values as better, as for errors.",
            PREPARATION,
            otherwise="log",
        ),
    ] = None
    scale: Annotated[
        Literal["task", "run", "none"] | None,
        Option("--scale", "Scale each task by its own range, all by one, or not at all.", PREPARATION, prepares=True),
    ] = None
    bounds: Annotated[
        Mapping[str, tuple[float, float]] | None,
        Option(
            "--bounds",
            'JSON {"task": {"min": …, "max": …}}.',
            PREPARATION,
            metavar="FILE",
            words='two increasing finite numbers for each task: {"task": {"min": 0, "max": 1}}',
            otherwise="log",
            prepares=True,
            normalise=read_bounds,
            type=Mapping[str, Ends],
            in_file=True,
        ),
    ] = None
    window: Annotated[
        Literal["flat", "hanning", "hamming", "bartlett", "blackman", "none"] | None,
        Option("--window", "The smoothing window; also hamming, bartlett, blackman, none.", PREPARATION, prepares=True),
    ] = None
    width: Annotated[
        Annotated[float, Meta(gt=0)] | None,
        Option(
            "--width",
            "Window length in experiences, or as a share of the block (a fifth).",
            PREPARATION,
            metavar="N",
            words="a whole number, 1 or more, or a share of the block below 1",
            prepares=True,
            normalise=read_width,
        ),
    ] = None
    smooth_evaluation: Annotated[
        bool | None,
        Option("--smooth-evaluation/--no-smooth-evaluation", "Smooth evaluations too.", PREPARATION, prepares=True),
    ] = None
    clamp: Annotated[
        bool | None,
        Option(
            "--clamp/--no-clamp",
            "Clip values at the 10th and 90th percentile, or at the bounds.",
            PREPARATION,
            prepares=True,
        ),
    ] = None
    noise: Annotated[
        Annotated[float, Meta(ge=0)] | None,
        Option("--noise", "Add noise to the learner's values.", PREPARATION, metavar="SD", prepares=True),
    ] = None
    columns: Annotated[
        Mapping[str, str],
        Option(
            "--column",
            "A column of your own table, e.g. exp_num=episode. Repeatable.",
            READING,
            metavar="OURS=THEIRS",
            words="OURS=THEIRS, as in exp_num=episode",
            otherwise="log",
            decides=False,
            parse=parse_pairs,
        ),
    ] = {}
    shape: Annotated[
        Literal["long", "wide", "triplets", "stream"] | None,
        Option(
            "--shape",
            "Layout of a table, if its header does not show it. stream: every row was scored before it was learned.",
            READING,
            otherwise="log",
        ),
    ] = None
    unverified: Annotated[
        bool, Option("--unverified/--verified", "Also score logs that fail their integrity check.", READING)
    ] = False
    max_unpacked: Annotated[
        Annotated[float, Meta(ge=1)],
        Option(
            "--max-unpacked",
            "MiB that a packed file may unpack to (4096).",
            READING,
            metavar="MIB",
            decides=False,
        ),
    ] = UNPACKED_LIMIT
    rows: Annotated[
        Literal["evaluated", "learned"] | None,
        Option(
            "--rows",
            "What the rows of a matrix stand for (--transposed: learned).",
            MATRICES,
            otherwise="log",
            shortcuts={"--transposed": "learned"},
        ),
    ] = None
    unit: Annotated[
        Literal["percent", "fraction", "raw"] | None,
        Option("--unit", "Unit of accuracies (default: percent if one exceeds 1).", MATRICES, otherwise="log"),
    ] = None
    as_given: Annotated[
        bool,
        Option("--as-given/--no-as-given", "Treat zeros in a matrix as measured.", MATRICES, otherwise="log"),
    ] = False
    random_init: Annotated[
        Baseline | None,
        Option(
            "--random-init",
            "Accuracy of an untrained learner.",
            MATRICES,
            metavar="X|X,…|FILE",
            words="a number, a list of numbers, or a number for each task",
            otherwise="log",
            parse=partial(parse_baseline, flag="--random-init"),
        ),
    ] = None
    joint: Annotated[
        Baseline | str | os.PathLike[str] | None,
        Option(
            "--joint",
            "Accuracy of a jointly trained learner, or its lifetimes.",
            MATRICES,
            metavar="X|X,…|FILE|LOG",
            words="a number, a list of numbers, or a number for each task",
            otherwise="log",
            parse=partial(parse_joint, flag="--joint"),
            type=Baseline,
        ),
    ] = None
    group: Annotated[
        str | None,
        Option(
            "--group",
            "Group ids by the first bracket of this regex.",
            STATISTICS,
            metavar="PATTERN",
            words="a regular expression",
            otherwise="log",
            decides=False,
        ),
    ] = None
    pool: Annotated[
        bool,
        Option("--pool/--no-pool", "Pool lifetimes of several arguments or folders.", STATISTICS, decides=False),
    ] = False
    level: Annotated[
        Annotated[float, Meta(ge=0.5, le=0.999)],
        Option(
            "--level",
            "Confidence level of intervals and verdicts (0.95).",
            STATISTICS,
            metavar="X",
            decides=False,
        ),
    ] = 0.95
    margins: Annotated[
        Mapping[str, Annotated[float, Meta(ge=0)]],
        Option(
            "--margin",
            "Margin X to subtract from a threshold. Repeatable.",
            STATISTICS,
            metavar="ID=X",
            words="ID=X with X of 0 or more, as in forward_transfer=0.05",
            decides=False,
            parse=parse_number_pairs,
        ),
    ] = {}
    measures: Mapping[str, str] = {}
    origins: Mapping[str, str] = {}

    def __post_init__(self) -> None:
        for name, option in OPTIONS.items():
            value = getattr(self, name)
            if value is None and _DEFAULTS[name] is None:
                continue
            if name == "joint" and isinstance(value, str | os.PathLike):
                continue  # the lifetimes of a joint learner, which the survey reads
            try:
                value = _named_ends(value) if name == "bounds" else value
                msgspec.structs.force_setattr(self, name, option.read(value))
            except ValueError:
                if option.choices and isinstance(value, str):
                    raise UnknownNameError(name, value, option.choices) from None
                kind = "a dict of " if option.parse and get_origin(option.type) is Mapping else ""
                fix = f"give {kind}{option.expected}"
                raise PerdureError(f"{name} is {reprlib.repr(value)}", fix) from None
        measure: object = self.measure
        if isinstance(measure, Mapping):
            msgspec.structs.force_setattr(self, "measures", fold_names(measure))
            msgspec.structs.force_setattr(self, "measure", None)

    def __repr__(self) -> str:
        values = [f"{name}={reprlib.repr(value)}" for name, value in self.given.items()]
        return f"Settings({', '.join([*values, *(['prep=…'] if self.prep else [])])})"

    @classmethod
    def given_or_default(cls, settings: Self | None) -> Self:
        """Return the settings of a caller, or the defaults. Refuse a dict."""
        if settings is not None and not isinstance(settings, cls):
            raise PerdureError(f"settings is a {type(settings).__name__}", "give perdure.Settings(preset=…, …)")
        return settings or cls()

    def replace(self, **changes: Any) -> Self:
        """Return the settings with some of them changed."""
        return msgspec.structs.replace(self, **changes)

    @property
    def ids(self) -> tuple[str, ...]:
        """The ids of the selected metrics."""
        return tuple(metric for metric in self.metrics if not metric.endswith(".py"))

    @property
    def files(self) -> tuple[str, ...]:
        """The Python files of metrics."""
        return tuple(metric for metric in self.metrics if metric.endswith(".py"))

    @property
    def given(self) -> dict[str, Any]:
        """The settings that differ from the defaults."""
        values = {name: getattr(self, name) for name in OPTIONS}
        changed = {name: value for name, value in values.items() if value != _DEFAULTS[name]}
        return {**changed, "measure": self.measures} if self.measures else changed

    def prepared(self, prep: Preparation) -> Preparation:
        """Return `prep`, or the preparation that replaces it, with the changes of other settings."""
        changed = {name: value for name, value in self.given.items() if OPTIONS[name].prepares}
        return msgspec.structs.replace(self.prep or prep, **changed)

    def reading(self) -> Options:
        """Return the options with which logs are read."""
        from perdure.log.read import Options

        return Options(
            columns=self.columns,
            verified=not self.unverified,
            shape=self.shape,
            rows=self.rows,
            unit=self.unit,
            as_given=self.as_given,
            measure=self.measure,
            task_measures=self.measures,
            max_unpacked=self.max_unpacked,
        )

    def sources(self) -> dict[str, str]:
        """Return the source of every setting."""
        values = self.given
        return {
            name: self.origins.get(name) or ("caller" if name in values else option.otherwise)
            for name, option in OPTIONS.items()
        }

    def as_json(self, prep: Preparation) -> dict[str, Any]:
        """Return every setting by name, with the steps of the preparation."""
        steps = msgspec.structs.asdict(prep)
        counted = steps.pop("unit")
        bounds = {task: {"min": low, "max": high} for task, (low, high) in (prep.bounds or {}).items()}
        return {
            **{name: getattr(self, name) for name in OPTIONS},
            **steps,
            "metrics": list(self.metrics),
            "measure": dict(self.measures) or self.measure,
            "bounds": bounds if prep.bounds is not None else None,
            "counted": counted,
        }


def _named_ends(bounds: Any) -> Any:
    """Return bounds in the form of files, which name the ends of each pair."""
    if not isinstance(bounds, Mapping):
        return bounds
    return {
        task: dict(zip(("min", "max"), ends, strict=True)) if isinstance(ends, list | tuple) else ends
        for task, ends in bounds.items()
    }


def _declared(hint: Any) -> Option | None:
    """Return the option in the annotation of a field, with the type of its values."""
    base, *metadata = get_args(hint) if get_origin(hint) is Annotated else (hint,)
    option = next((item for item in metadata if isinstance(item, Option)), None)
    if option is None or option.type is not None:
        return option
    limits = tuple(item for item in metadata if isinstance(item, Meta))
    kind = Annotated[(base, *limits)] if limits else base
    if get_origin(base) in (Union, UnionType):
        kind = reduce(or_, (member for member in get_args(base) if member is not NoneType))
    return msgspec.structs.replace(option, type=kind)


OPTIONS: Mapping[str, Option] = {
    name: option
    for name, hint in get_type_hints(Settings, include_extras=True).items()
    if (option := _declared(hint)) is not None
}
"""Option of every setting by its key, in the order of the help."""

_DEFAULTS: Mapping[str, Any] = {
    field.name: field.default_factory() if field.default is msgspec.NODEFAULT else field.default
    for field in msgspec.structs.fields(Settings)
}

UNDECIDING = frozenset(name for name, option in OPTIONS.items() if not option.decides)
"""Settings that may differ between lifetimes that are pooled."""


def setting_keys() -> frozenset[str]:
    """Return the keys of the settings in a result."""
    from perdure.curves.model import Preparation

    return frozenset({*Settings().as_json(Preparation()), "experts"})


class SettingsByName(TypedDict, total=False):
    """The fields of `Settings`, for calls that give settings by name."""

    preset: str
    measure: str | Mapping[str, str] | None
    measure_for: Mapping[str, str]
    prep: Preparation | None
    metrics: str | Sequence[str]
    aggregate: Literal["mean", "median"]
    expert_average: Literal["metrics", "time"]
    weights: Mapping[str, float]
    learned: Mapping[str, float]
    variants: Literal["name", "params", "agnostic"] | None
    lower_is_better: bool | None
    scale: Literal["task", "run", "none"] | None
    bounds: Mapping[str, tuple[float, float]] | None
    window: Literal["flat", "hanning", "hamming", "bartlett", "blackman", "none"] | None
    width: float | None
    smooth_evaluation: bool | None
    clamp: bool | None
    noise: float | None
    columns: Mapping[str, str]
    shape: Literal["long", "wide", "triplets", "stream"] | None
    unverified: bool
    max_unpacked: float
    rows: Literal["evaluated", "learned"] | None
    unit: Literal["percent", "fraction", "raw"] | None
    as_given: bool
    random_init: Baseline | None
    joint: Baseline | str | os.PathLike[str] | None
    group: str | None
    pool: bool
    level: float
    margins: Mapping[str, float]


def settings_from(
    settings: Settings | None = None, function: Callable[..., Any] | None = None, /, **by_name: Any
) -> Settings:
    """Return `settings`, or the defaults, with the keyword arguments of a call of `function`.

    Raise UnknownNameError for a misspelt name, with the nearest parameter or setting, and PerdureError for a value that
    does not fit.
    """
    for name in by_name:
        if name not in Settings.__struct_fields__:
            if function is None:
                raise UnknownNameError("setting", name, OPTIONS)
            parameters = [*inspect.signature(function).parameters][:-1]  # the last one takes the settings
            raise UnknownNameError("parameter", name, [*parameters, *OPTIONS])
    if "measure" in by_name:
        by_name.setdefault("measures", {})
    return Settings.given_or_default(settings).replace(**by_name)


_NOT_IN_FILES = ("unverified", "max_unpacked")  # the author of the data must not decide how far Perdure trusts it


def read_settings(
    content: Mapping[str, Any], file: object, lines: Mapping[str, int] | None = None, where: str | None = None
) -> dict[str, Any]:
    """Return the settings in a file, by key. An error names the key, and the line if `lines` gives it.

    A file next to data, or sent with a protocol, must not make Perdure run code.
    """
    settings: dict[str, Any] = {}
    for key, value in content.items():
        try:
            settings[key] = _read(key, value)
        except PerdureError as problem:
            raise problem.with_place(file=file, line=(lines or {}).get(key), where=where) from None
    return settings


def _read(key: str, value: Any) -> Any:
    if key not in OPTIONS:
        raise UnknownNameError("key", key, OPTIONS)
    option = OPTIONS[key]
    if key in _NOT_IN_FILES:
        raise PerdureError(
            f"{key!r} can only be set on the command line, not in a file beside the data",
            f"remove it here, and give {option.flag}",
        )
    try:
        # In a file, measures by task may be text as on the command line.
        setting = option.read_text(value) if key == "measure" and isinstance(value, str) else option.read(value)
    except ValueError:
        raise PerdureError(f"{key!r} is {value!r}", f"expected {option.expected}") from None
    if key == "metrics" and (scripts := [metric for metric in setting if metric.endswith(".py")]):
        raise PerdureError(
            f"{key!r} names the Python file {scripts[0]!r}, and a file of settings runs no code",
            f"name metrics by their ids here, and give the file by {option.flag}",
        )
    return setting
