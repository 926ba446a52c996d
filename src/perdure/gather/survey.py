"""The survey: find, identify, give experts, read, verify, draw curves and score, once, in several processes."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal, Protocol

import numpy.typing as npt

from perdure.curves.model import Curves
from perdure.errors import NotALog, PerdureError
from perdure.gather.find import Found, find_lifetimes, named_apart
from perdure.gather.joint import beside_joint, finals, is_joint, joint_accuracies, needing, place_of
from perdure.gather.model import Life, Survey
from perdure.gather.processes import processes, worked
from perdure.gather.serving import OwnExpert, Serving, idle
from perdure.log.model import Identity, Lifetime
from perdure.log.places import as_text, taskinfo_file
from perdure.log.read import READERS, Options, lifetimes, locate, recognise
from perdure.log.variants import Sets, Settled, settle
from perdure.metrics.engine.declare import METRICS, Bar
from perdure.metrics.engine.score import Score, Scorer
from perdure.metrics.engine.settings import Settings
from perdure.settings import OPTIONS
from perdure.words import plural

__all__ = ["Done", "Frame", "How", "Look", "Source", "Surveyor", "described", "renamed", "score", "survey"]

Source = str | os.PathLike[str] | Lifetime
"""What can be surveyed: a path, or a lifetime that was read before. Tables in memory hold lifetimes as those in files
do (Polars, pandas, Arrow, or arrays by the names of columns); lists and arrays of numbers are matrices."""


class InMemory(Protocol):
    """A table of Polars, pandas or Arrow."""

    @property
    def columns(self) -> Any: ...


Frame = InMemory | Mapping[str, Any] | npt.NDArray[Any]
"""A table in memory, its columns by name, or a matrix."""

_TAKEN = "give a path, a Lifetime, several of these, a table (or its columns by name), or a matrix of numbers"

Look = Callable[[Curves, int], Any]
"""What is to be kept of a lifetime's curves, given how many lifetimes there are; it must survive a pickle."""

_ROWS_AT_ONCE = 1 << 20
_WORTH_A_POOL = 8  # fewer lifetimes are scored before a second process has started
_HANDFUL, _TURNS = 32, 8  # places that a process takes at once; how often it comes back for more, at least


def survey(
    logs: Source | Sequence[Source] | Frame,
    experts: Source | Sequence[Source] | Frame = (),
    settings: Settings | None = None,
    *,
    look: Look | None = None,
    jobs: int | None = None,
    engine: Literal["local", "ray"] = "local",
    address: str | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Survey:
    """Every lifetime at or below `logs`, scored the same way: logs, tables, matrices, and scores made before.

    One that cannot be read is left out with the reason; where none can, that reason is raised.
    `look` says what to keep of each lifetime's curves, which else are dropped once they are scored.
    `progress` is told how many of how many are done. `jobs` is the number of processes; by default
    as many as there are cores, and one for a few lifetimes. With `engine` "ray" the lifetimes are sent to
    the cluster at `address`, at RAY_ADDRESS, or one started here.
    """
    from perdure.gather.score_files import is_score_file, read_score_file

    if not isinstance(settings, Settings | None):
        raise PerdureError(f"settings are a {type(settings).__name__}", "give perdure.Settings(preset=…, …)")
    settings, of_joint = _with_joint(settings or Settings())
    given, experts = _several(logs, settings.reading()), _several(experts)
    if not given:
        raise NotALog("no logs were given", _TAKEN)
    scorer = Scorer(settings)  # what is misspelt fails here, before any log is read
    files = [one for one in given if not isinstance(one, Lifetime) and is_score_file(locate(one))]
    once = {locate(one).resolve(): locate(one) for one in files}  # given twice, it counts once
    kept = [read_score_file(one, settings.metrics, settings.margins) for one in once.values()]
    places = [one for one in given if not isinstance(one, Lifetime) and one not in files]
    found, own = find_lifetimes(places, [one for one in experts if not isinstance(one, Lifetime)], settings.reading())
    found = (*(_in_memory(one) for one in given if isinstance(one, Lifetime)), *found)
    stated = _stated(scorer) if not experts and not own else ()
    how = How(
        settings,
        experts=stated or tuple(one if isinstance(one, Lifetime) else os.fspath(one) for one in experts),
        own_experts=own,
        look=look,
        count=len(found),
    )
    surveyor = Surveyor(how)  # what is wrong with experts that were given fails here
    count = processes(len(found), jobs, _WORTH_A_POOL)
    settled = _settled(surveyor, found, count)
    if settled is not None:
        how = replace(how, settled=settled)
        surveyor = Surveyor(how, surveyor.serving)
    if engine == "ray" and found:
        from perdure.gather.on_ray import scored_on_ray

        done = scored_on_ray(how, found, address, progress, jobs)
    else:
        done = _shared_out(how, found, count, progress, surveyor) if found else []
    lives = _told_apart(_beside_joint(how, list(zip(found, done, strict=True)), count))
    lives += _scored_before([score for one in kept for score in one.scores], {one.id for one in lives}, settings)
    problems = [pair for one in done for pair in one.left_out] + [pair for one in kept for pair in one.left_out]
    if not lives and len(problems) == 1 and surveyor.raised is not None:
        raise surveyor.raised
    if not lives and not problems:
        raise NotALog(f"no lifetime among {len(own)} experts", "give logs of lifetimes as well")
    if not lives:
        more = f" (and {len(problems) - 1} more that cannot be scored)" if len(problems) > 1 else ""
        raise NotALog(f"{problems[0][1]}{more}", "see perdure check")
    served = {name for one in done for name in one.experts_served}
    unserved = {name: why for one in done for name, why in one.experts_left_out if name not in served}
    unserved |= {name: why for name, why in idle(own, (one.run for one in found)) if name not in served}
    written: dict[str, Bar] = {name: bar for one in kept for name, bar in one.bars.items()}
    return Survey(
        lives=tuple(lives),
        left_out=(*problems, *((as_text(name), as_text(why)) for name, why in unserved.items())),
        settings=described(settings, scorer, [_called(one) for one in (*how.experts, *(path for path, _ in own))]),
        preset=scorer.preset.name if found or not kept else kept[0].preset,
        metrics=scorer.metrics if found else {key: one for key, one in scorer.metrics.items() if key in written},
        settings_from=settings.sources(),
        written=written,
        name=", ".join(_called(one, brief=True) for one in given),
        notes=(
            *(f"experts as stated in {one}" for one in stated),
            *of_joint,
            *(_unheeded(settings) if kept else ()),
        ),
    )


def score(
    log: Source | Frame, experts: Source | Sequence[Source] | Frame = (), settings: Settings | None = None
) -> Score:
    """Every metric of one lifetime, a log or one read before, beside its experts; as `survey`, for one."""
    found = survey(log, experts, settings)
    if len(found.lives) > 1:
        ids = ", ".join(one.id for one in found.lives[:3])
        raise PerdureError(
            f"{len(found.lives)} lifetimes ({ids}, …)", "perdure.survey takes several", file=_called(log)
        )
    made = found.scores[0]
    return replace(made, notes=(*made.notes, *(f"expert left out: {why}" for _, why in found.left_out)))


def _with_joint(settings: Settings) -> tuple[Settings, tuple[str, ...]]:
    """The settings with numbers for the joint learner where its lifetimes were named, and what to say of it."""
    place = place_of(settings.joint)
    if place is None:
        return settings, ()
    plain = replace(settings, joint=None, preset="standard", metrics=(), margins={})
    lives = survey(place, settings=plain, look=finals).lives
    lives = tuple(one for one in lives if is_joint(one.score.identity)) or lives
    said = f"joint accuracies: the last evaluations of {plural(len(lives), 'lifetime')} at {place}"
    return replace(settings, joint=joint_accuracies(lives, place)), (as_text(said),)


def _beside_joint(how: How, places: Sequence[tuple[Found, Done]], count: int) -> list[tuple[Found, Life]]:
    """Every life; where a joint learner is among them, the others beside it."""

    def again(found: Sequence[Found], settings: Settings, look: Look | None) -> list[Sequence[tuple[Found, Life]]]:
        wanted = replace(how, settings=settings, look=look)
        return [one.lives for one in _shared_out(wanted, found, min(count, len(found)))]

    told = [(found, done.lives) for found, done in places]
    return beside_joint(told, how.settings, needing(Scorer(how.settings).metrics), again)


def _shared_out(
    how: How,
    found: Sequence[Found],
    count: int,
    progress: Callable[[int, int], None] | None = None,
    here: Surveyor | None = None,
) -> list[Done]:
    """What a `Surveyor` makes of each place, in order: neighbours go to one process, which measures them together."""
    size = max(1, min(_HANDFUL, len(found) // (_TURNS * count)))
    handfuls = [found[at : at + size] for at in range(0, len(found), size)]
    return [one for some in worked(Surveyor, how, handfuls, count, progress, here=here, size=len) for one in some]


def described(settings: Settings, scorer: Scorer, experts: Sequence[str]) -> dict[str, Any]:
    """Everything that decided the scores, as every output carries it."""
    return {**settings.as_json(scorer.prep), "experts": [as_text(one) for one in experts]}


def _stated(scorer: Scorer) -> tuple[str, ...]:
    """The file that states what experts achieve, for a preset that knows it and where it is."""
    file = taskinfo_file()
    return (str(file),) if scorer.preset.taskinfo and file.is_file() else ()


def _several(given: Any, options: Options | None = None) -> tuple[Source, ...]:
    """One path is a list of one, not of its letters; one matrix, or a stack of them, is what it tells of."""
    if isinstance(given, str | os.PathLike | Lifetime):
        return (given,)
    if isinstance(given, list | tuple) and all(isinstance(one, str | os.PathLike | Lifetime) for one in given):
        return tuple(given)  # what reads tables is not needed for logs
    from perdure.log.formats.table import frame_lifetimes, is_frame

    if isinstance(given, Mapping):
        given = _frame_of(given)
    if is_frame(given):
        return frame_lifetimes(given, options or Options())
    if isinstance(given, bytes) or not (isinstance(given, Iterable) or hasattr(given, "__array__")):
        raise PerdureError(f"no logs can be read from {given!r}", _TAKEN)
    if not hasattr(given, "__array__"):
        given = list(given)
        others = [type(one).__name__ for one in given if not isinstance(one, str | os.PathLike | Lifetime)]
        if not others:
            return tuple(given)
        if len(others) < len(given) or any(map(is_frame, given)):
            raise PerdureError(f"a list with a {others[0]} in it", "put tables together into one, and give it alone")
    from perdure.log.formats.matrix import matrix_lifetimes

    return matrix_lifetimes(given, options=options or Options())


def _frame_of(columns: Mapping[str, Any]) -> Any:
    import polars as pl

    try:
        return pl.DataFrame({name: one if isinstance(one, str) else list(one) for name, one in columns.items()})
    except (TypeError, ValueError, pl.exceptions.PolarsError) as problem:
        raise PerdureError(f"no table: {problem}", "give each column as an array, all of one length") from problem


def _called(one: Source | Frame, *, brief: bool = False) -> str:
    if isinstance(one, Lifetime):
        return as_text(one.path) if one.path else one.id
    if not isinstance(one, str | os.PathLike):
        return "table"
    return as_text(Path(one).resolve().name) if brief else as_text(os.fspath(one))


def _in_memory(lifetime: Lifetime) -> Found:
    place = as_text(lifetime.path) if lifetime.path else ""
    held = lifetime.id.partition("#")[0] if lifetime.inside else ""  # one of several, of a table or a stack
    who = Identity(lifetime.id, source=place, holder=held, argument=(place or held) if held else "")
    return Found(lifetime.path or Path(), who, typed=lifetime.id, lifetime=lifetime)


def _told_apart(lives: Sequence[tuple[Found, Life]]) -> list[Life]:
    """The lives under ids that differ."""
    apart = named_apart([found for found, _ in lives])
    return [
        life if life.id == found.identity.id else renamed(life, found.identity.id)
        for found, (_, life) in zip(apart, lives, strict=True)
    ]


def _scored_before(scores: Sequence[Score], taken: set[str], settings: Settings) -> list[Life]:
    """Lives of which only the scores are known, as far as they were asked for; where an id is taken, with the file."""
    again = Counter(one.id for one in scores)
    ids = {METRICS.canonical(one) for one in settings.ids}

    def told(one: Score) -> Score:
        who = one.identity
        clash = again[who.id] > 1 or who.id in taken
        asked = {name: found for name, found in one.metrics.items() if not ids or name in ids}
        named = replace(who, id=f"{who.argument}#{who.id}") if clash else who
        return replace(one, identity=named, metrics=asked)

    return [Life(told(one)) for one in scores]


def _unheeded(settings: Settings) -> tuple[str, ...]:
    """What cannot change scores that were made before."""
    late = [
        OPTIONS[name].flag for name in settings.given if name in OPTIONS and (OPTIONS[name].decides or name == "preset")
    ]
    return (f"scores made before are shown as they were made, whatever {', '.join(late)} says",) if late else ()


def renamed(life: Life, name: str) -> Life:
    """The lifetime under another id."""
    return replace(life, score=replace(life.score, identity=replace(life.score.identity, id=name)))


# --- the work ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class How:
    """What every process needs to know before it scores its first lifetime."""

    settings: Settings
    experts: tuple[str | Lifetime, ...] = ()
    """Given, so they serve every lifetime."""
    own_experts: tuple[OwnExpert, ...] = ()
    """Found among the lifetimes; those of a run folder serve its lifetimes alone."""
    settled: Settled | None = None
    """What parameter sets are called in all of them, where parameters make tasks."""
    look: Look | None = None
    count: int = 1
    """How many lifetimes, or files of them, there are."""
    cache: bool = True
    """Whether a Parquet copy may be kept beside a log."""


@dataclass(frozen=True)
class Done:
    """The lifetimes of one place, told, and what was left out; and which experts served so far."""

    lives: tuple[tuple[Found, Life], ...]
    left_out: tuple[tuple[str, str], ...] = ()
    experts_left_out: tuple[tuple[str, str], ...] = ()
    experts_served: tuple[str, ...] = ()


class Surveyor:
    """What one process keeps between lifetimes: the experts, read and smoothed once."""

    def __init__(self, how: How, serving: Serving | None = None) -> None:
        self.how = how
        self.options = replace(how.settings.reading(), cache=how.cache)
        self.serving = serving or Serving(how.experts, how.own_experts, self.options)
        self._scorers: dict[Path | None, Scorer] = {}
        settings = how.settings
        # What others declare, papers' presets and those who look at curves may want any row.
        plain = settings.preset == "standard" and not settings.metrics and settings.variants in (None, "name", "aware")
        self._lean = plain and not settings.measures and settings.prep is None and how.look is None
        self.raised: PerdureError | None = None
        """The last reason for leaving something out, as it was raised."""

    def __call__(self, places: Sequence[Found]) -> list[Done]:
        """Every lifetime at each place, told; those that cannot be are left out with the reason.

        Neighbours that share their experts and blocks are measured together.
        """
        telling = [_Telling(one) for one in places]
        for some in _in_pieces(self._each(telling)):
            self._tell(some)
            some.clear()  # before the next is read: long lives are held one at a time
        return [one.done() for one in telling]

    def _each(self, telling: Sequence[_Telling]) -> Iterator[_Read]:
        """The lifetimes at the places, read as they are asked for."""
        for one in telling:
            try:
                one.scorer = self.scorer(one.place.run)
                for found, lifetime in self.read(one.place):
                    yield one, found, lifetime
                    del lifetime
            except Exception as problem:
                one.scorer = None
                one.leave_out(one.place, self._why(one.place, problem))

    def scorer(self, run: Path | None) -> Scorer:
        """The scorer of a run folder's or a file's lifetimes, with its own experts and those given."""
        if run not in self._scorers:
            self._scorers[run] = Scorer(self.how.settings, self.serving.of(run), self.how.settled)
        return self._scorers[run]

    def read(self, found: Found) -> Iterator[tuple[Found, Lifetime]]:
        """The lifetimes at a place, the experts among those of one file left out."""
        if found.lifetime is not None:
            yield found, found.lifetime
            return
        options = replace(self.options, rows=self.options.rows or found.rows, lean=self._lean)
        for one in lifetimes(found.path, options, found.part):
            if not one.inside:
                yield found, one
            elif one.role != "expert":
                yield found.inside(one.inside), one

    def _tell(self, some: Sequence[_Read]) -> None:
        """Score lifetimes together or, where one of them cannot be, each by itself."""
        scorer = self.scorer(some[0][0].place.run)
        try:
            scored = scorer.scored_together((lifetime, found.identity) for _, found, lifetime in some)
            told = [self._life(*made, lifetime) for made, (_, _, lifetime) in zip(scored, some, strict=True)]
        except Exception as problem:
            if len(some) == 1:
                telling, found, _ = some[0]
                telling.leave_out(found, self._why(found, problem))
            else:
                for each in some:
                    self._tell([each])
            return
        for (telling, found, _), life in zip(some, told, strict=True):
            # What goes to another process is what is known of the place, not what was read from it.
            telling.lives.append((replace(found, lifetime=None), life))

    def _life(self, made: Score, curves: Curves, lifetime: Lifetime) -> Life:
        if self.how.look is None:
            return Life(made)
        return Life(made, self.how.look(curves, self.how.count), lifetime.manifest, lifetime.info)

    def _why(self, found: Found, problem: Exception) -> str:
        if isinstance(problem, PerdureError):
            self.raised = problem
            return as_text(str(problem))
        if os.environ.get("PERDURE_TRACEBACK"):
            raise problem
        return as_text(f"{found.path}: internal error: {type(problem).__name__}: {problem}")


@dataclass
class _Telling:
    """One place, while its lifetimes are read and scored."""

    place: Found
    scorer: Scorer | None = None
    """Whose experts serve it; None where it could not be read."""
    lives: list[tuple[Found, Life]] = field(default_factory=list)
    left_out: list[tuple[str, str]] = field(default_factory=list)

    def leave_out(self, found: Found, why: str) -> None:
        self.left_out.append((found.identity.source or found.identity.id, why))

    def done(self) -> Done:
        served, unserved = (self.scorer.served, self.scorer.left_out) if self.scorer else ((), {})
        return Done(tuple(self.lives), tuple(self.left_out), tuple(unserved.items()), tuple(served))


_Read = tuple[_Telling, Found, Lifetime]
"""A lifetime, and the place that it was read from."""


def _in_pieces(lives: Iterable[_Read]) -> Iterator[list[_Read]]:
    """Neighbours that are scored in one go: some thousands of rows, so that long lives are held one at a time."""
    some: list[_Read] = []
    rows = 0
    for one in lives:
        here = one[2].height
        if some and (rows + here > _ROWS_AT_ONCE or one[0].place.run != some[0][0].place.run):
            yield some
            some, rows = [], 0
        some.append(one)
        rows += here
        del one
        if rows >= _ROWS_AT_ONCE:
            yield some
            some, rows = [], 0
    if some:
        yield some


# --- whose variants ------------------------------------------------------------------------------


class _Sets:
    """What one process does where parameters make tasks: it looks at the sets of each lifetime first."""

    def __init__(self, how: How) -> None:
        self.surveyor = Surveyor(how)

    def __call__(self, found: Found) -> tuple[Sets, ...]:
        how = self.surveyor.how.settings
        try:
            return tuple(
                replace(one.sets, id=place.identity.id)
                for place, one in self.surveyor.read(found)
                if (how.variants or one.variants) == "params"
            )
        except Exception:
            return ()  # what is wrong with it is said when it is scored


def _settled(surveyor: Surveyor, found: Sequence[Found], count: int) -> Settled | None:
    """What parameter sets are called over the whole survey, experts included; None where names make tasks."""
    asked = surveyor.how.settings
    preset = Scorer(asked).prep.variants
    several = len(found) > 1 or any(one.part is not None for one in found)
    if preset not in (None, "params") or not several:
        return None
    if preset is None and not any(_by_parameters(one) for one in found):
        return None
    sets = worked(_Sets, surveyor.how, found, count)
    experts = [one.sets for one in surveyor.serving.everywhere()]
    return settle([each for one in sets for each in one] + experts)


def _by_parameters(found: Found) -> bool:
    """Whether a place holds lifetimes whose source takes parameters for a part of the task."""
    if found.lifetime is not None:
        return found.lifetime.variants == "params"
    try:
        return recognise(found.path) is READERS.get("learnkit")
    except PerdureError:
        return False
