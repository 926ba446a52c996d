"""What `perdure score --json` writes."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from msgspec import UNSET, Meta, UnsetType

from perdure.curves.arrays import Scale, Window
from perdure.log.accuracy_matrix import Unit
from perdure.log.formats.column_names import Shape
from perdure.log.formats.matrix import Rows
from perdure.metrics.arithmetic import Aggregate
from perdure.metrics.declare import AveragedAs, Better, Headline
from perdure.scenario.model import Mode as BlockMode
from perdure.scenario.model import Subtype, VariantMode, Variants
from perdure.schemas.structs import Part
from perdure.stats.model import Tails, Verdict
from perdure.stats.sentences import verdict_words

Measures = str | None | dict[str, str]


Baseline = float | None | list[float] | dict[str, float]


class Bound(Part):
    """The ends of a range."""

    min: float
    max: float


class Lifetime(Part):
    """One lifetime, measured."""

    id: str
    """The path from the argument's own last name down, with # and its name inside a file of several."""
    identity: str | None
    """The id in the log's manifest."""
    learner: str | None
    seed: int | None
    scenario_type: str | None
    protocol: dict[str, Any] | str | None
    """As the manifest states it."""
    complete: bool | None
    """Whether the life reached its end; null where the log does not say."""
    digest: str | None
    """Of its tasks, blocks and values, by which a copy is recognised; null where fewer than 20 values differ."""
    measure: str | dict[str, Any] | None
    """By task, as an object, where tasks are measured differently."""
    unit: Unit | None
    """Of an accuracy matrix."""
    direction: str
    """Which values of the measure are better: higher, lower, or of each measure if they differ."""
    variants: VariantMode
    """Whose variants count as tasks."""
    order: list[str]
    """The tasks of its learning blocks, one after the other."""
    dropped_rows: int
    """Rows that are incomplete, or have no finite value."""
    learning_experiences: int
    evaluation_experiences: int
    tasks: list[str]
    """By first learning, then by first evaluation."""
    metrics: dict[str, Metric]
    blocks: list[Block]
    notes: list[str]
    """What was left out or repaired, and how ranges were found."""
    not_learned: list[str]
    """Tasks below the performance given by --learned."""
    bounds: dict[str, Bound]
    """Of each task that has any, the bounds that were given or that its log records, as measured."""


class LeftOut(Part):
    """A lifetime that was left out."""

    id: str
    why: str


class Group(Part, kw_only=True):
    """Lifetimes that may be pooled."""

    group: str
    """What its lifetimes have in common."""
    n: int
    learner: str | UnsetType | None = UNSET
    scenario_type: str | UnsetType | None = UNSET
    protocol: str | UnsetType | None = UNSET
    measure: str | dict[str, Any] | UnsetType | None = UNSET
    unit: str | UnsetType | None = UNSET
    direction: str | UnsetType = UNSET
    """Which values of the measure are better."""
    preset: str | UnsetType = UNSET
    notes: list[str] | UnsetType = UNSET
    """What its lifetimes differ in."""
    lives: list[str] | UnsetType = UNSET
    left_out: list[LeftOut] | UnsetType = UNSET
    metrics: dict[str, Estimate]
    learned_only: Group | UnsetType | None = UNSET
    """The same without lifetimes in which a task was never learned; null without --learned."""


class Iqm(Part):
    """The interquartile mean and its interval."""

    value: float
    low: float | None
    high: float | None


class Flag(Part):
    """What a value carries."""

    flag: str
    n: int


class Estimate(Part, kw_only=True):
    """What the lifetimes of a group say about one metric."""

    n: int
    """Lifetimes that have a value."""
    missing: int | UnsetType = UNSET
    mean: float | None
    sd: float | None
    """With n - 1 in the denominator; of logarithms where scale is log."""
    scale: AveragedAs | UnsetType = UNSET
    """On what scale lifetimes are averaged; mean, low and high are brought back."""
    low: float | None
    high: float | None
    level: float
    median: float | UnsetType | None = UNSET
    iqm: Iqm | UnsetType | None = UNSET
    threshold: float | UnsetType | None = UNSET
    margin: float | UnsetType = UNSET
    t: float | None
    df: float | UnsetType | None = UNSET
    """Degrees of freedom, by Satterthwaite where experts are a sample."""
    p: float | None
    """Of the test against `against`; the interval's dual."""
    tails: Tails | UnsetType = UNSET
    """One under presets that decide as papers did."""
    against: float | UnsetType | None = UNSET
    """The value that t, p and the tests beside them are held against."""
    above: float | None
    """The share of lifetimes beyond the threshold less its margin."""
    above_count: int | UnsetType | None = UNSET
    sign_p: float | None
    """Beside p and never deciding."""
    rank_p: float | UnsetType | None = UNSET
    """Of the signed-rank test, beside p and never deciding."""
    verdict: Verdict | None
    """Null for exploratory metrics."""
    word: Annotated[str, Meta(examples=[*verdict_words()])] | None
    """The verdict in the metric's own word; a metric of one's own may have others than these."""
    says: str | UnsetType | None = UNSET
    """What the word means here."""
    more_lifetimes: int | UnsetType | None = UNSET
    """About how many more would decide it, if mean and spread stay; null where more alone would not."""
    why: str | None
    flags: list[Flag] | UnsetType = UNSET
    """What lifetimes' values carry, and how many lifetimes' do."""


class Metric(Part):
    """One metric of one lifetime."""

    value: float | None
    by: dict[str, list[float]]
    """A task, an ordered pair a→b, or `whole lifetime`, to its values in order; empty where every site lacks one."""
    why: str | None
    """The reason why there is no value."""
    flags: list[str]
    """What a reader of the value should know."""
    experts: dict[str, list[str]]
    """A task to the experts that its values stand beside, in their order (id@digest of what was measured); empty
    where a metric compares with none."""
    at: dict[str, list[list[int]]] | UnsetType = UNSET
    """A key of `by` to the blocks that each of its values is read from, as numbered in `blocks`; absent where a
    metric takes the lifetime as a whole."""


class Block(Part):
    """One block."""

    block: int
    group: int
    """L2Logger's block_num, which may gather several blocks."""
    mode: BlockMode
    subtype: Subtype
    task: str
    length: int | None
    mean: float | None
    terminal: float | None
    saturation: float | None
    experiences_to_saturation: int | None
    squares: float | UnsetType | None = UNSET
    """Of an evaluation: the sum of squared deviations from its mean."""
    lagged: float | UnsetType | None = UNSET
    """The sum of products of neighbouring deviations."""
    dormant_units: float | UnsetType | None = UNSET
    """The mean share of units that no longer answer, where the learner logs it."""


class Settings(Part):
    """Every setting by the name of its flag, and the preparation as it was done."""

    preset: str
    measure: Measures
    """As asked for; null is each log's first."""
    metrics: list[str]
    """Ids and files asked for; empty is the preset's."""
    window: Window
    width: int | None
    """In experiences; null is a fifth of the block, at most 100."""
    smooth_evaluation: bool
    clamp: bool
    scale: Scale
    bounds: dict[str, Bound] | None
    recorded_bounds: bool
    """Whether bounds in a log's manifest count where none are given here."""
    variants: Variants | None
    noise: float
    noise_seed: int
    alignment: Literal["centred", "lagging"]
    matching: Literal["whole", "prefix"]
    """How experts and bounds are matched to tasks."""
    suffix: Literal["last", "first"]
    """After which underscore a variant starts."""
    keep_constant: bool
    """Whether constant tasks count in lifetime means."""
    counted: Literal["experience", "row"]
    """What is smoothed and counted."""
    aggregate: Aggregate
    expert_average: Literal["metrics", "time"]
    lower_is_better: bool | None
    """Whatever the log says; null is as it says."""
    margins: dict[str, float]
    learned: dict[str, float]
    random_init: Baseline
    joint: Baseline
    unit: Unit | None
    rows: Rows | None
    """What the rows of accuracy matrices are; null is as their cells tell."""
    as_given: bool
    experts: list[str]
    columns: dict[str, str]
    """Perdure's column names to those in tables of one's own."""
    shape: Shape | None
    """How tables are laid out; null is as their headers tell."""
    unverified: bool
    """Whether logs that are not as their ledgers say were scored."""
    max_unpacked: float
    """How many MiB a packed file was allowed to unpack to."""
    group: str | None
    """The pattern by which lifetimes were grouped."""
    pool: bool
    """Whether lifetimes of several arguments or folders were pooled."""
    level: float
    """Of intervals and verdicts."""


class LeftOutPath(Part):
    """What was given and could not be used."""

    path: str
    why: str


class Threshold(Part):
    """What a metric is held against."""

    threshold: float | None
    margin: float
    better: Better
    inclusive: bool
    """Whether a value at the threshold itself counts as beyond it."""
    headline: Headline | UnsetType = UNSET
    """Of what it is a headline number; only those are decided."""
    scale: AveragedAs | UnsetType = UNSET
    expert: bool | UnsetType = UNSET


class Syllabus(Part):
    """What one syllabus says about a capability."""

    name: str
    lifetimes: int
    score: float | None
    values: dict[str, float]


class Answer(Part):
    """A question of 2019, and its answer."""

    question: str
    metric: str
    value: float
    syllabi: int
    """How many have a value."""


class Capability(Part):
    """A Core Capability of 2019."""

    learner: str
    capability: str
    score: float | None
    """The mean over syllabi of their mean ratios to experts."""
    why: str | None
    syllabi: list[Syllabus]
    answers: list[Answer]


class Scores(Part, kw_only=True):
    """Lifetimes measured one by one. Every number is finite; a missing value is null, with its reason in `why`."""

    perdure: str
    """The version that wrote this."""
    schema: int
    """The form of this file."""
    definitions: int
    """Which edition of the definitions the numbers follow; scores of another edition are not read."""
    preset: str
    """Results of different presets are never pooled."""
    settings: Settings
    """Every setting by the name of its flag, and the preparation as it was done."""
    settings_from: (
        dict[str, Literal["command line", "perdure.toml", "protocol", "log", "preset", "caller"]] | UnsetType
    ) = UNSET
    """Every setting to where its value came from."""
    left_out: list[LeftOutPath]
    """Lifetimes and experts that were given and could not be used."""
    lifetimes: list[Lifetime]
    thresholds: dict[str, Threshold] | UnsetType = UNSET
    """What each metric is held against; a threshold of null is none."""
    groups: list[Group] | UnsetType = UNSET
    """Statistics over lifetimes that may be pooled; empty where `not_grouped` says why."""
    capabilities: list[Capability] | UnsetType = UNSET
    """Each learner's score in each Core Capability of 2019; empty under other presets than framework-2019."""
    not_grouped: str | UnsetType | None = UNSET
    """Why several lifetimes could not be pooled."""
    checksum: str | UnsetType = UNSET
    """Of everything else in this file; a file that was changed is not read."""
