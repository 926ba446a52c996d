"""Read the header of a syllabus, and turn its instructions into runs.

The language is that of the 2019 metrics framework, with Perdure's additions. A run is a number of equal episodes in a
row. Only a `$repeat` over several different instructions is unrolled, and refused if that would give more than
`MOST_BLOCKS` blocks.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from perdure.errors import closest, nearest
from perdure.scenario.document import (
    DuplicateKeys,
    Notes,
    Steps,
    duplicate_key,
    instruction_steps,
    is_finite,
    quote,
)
from perdure.scenario.layouts import LAYOUTS
from perdure.scenario.model import LONGEST_NAME, UNSAFE_PATH, Subtype
from perdure.scenario.parameters import UnfitParameterError, is_drawn, parameter_key

LONGEST = 10**9
"""The most experiences (or 1000 times as many steps) that one block may have."""
MOST_BLOCKS = 200_000

_PHASE = re.compile(r"(0|[1-9][0-9]{0,8})\.(train|test|probe)")
_EPISODE_WORDS = ("$episode", "$variant")
SCENARIO_TYPES = (*dict.fromkeys(layout.scenario_type for layout in LAYOUTS.values()), "custom")

# L2Logger compares these three without case, and so do we.
_WORDS: Mapping[str, tuple[str, ...]] = {
    "complexity": ("1-low", "2-intermediate", "3-high"),
    "difficulty": ("1-easy", "2-medium", "3-hard"),
    "scenario_type": SCENARIO_TYPES,
}
_KNOWN = (
    "$schema",
    "author",
    "complexity",
    "composed",
    "description",
    "difficulty",
    "input_file",
    "instructions",
    "name",
    "pre_deployment",
    "scenario",
    "scenario_type",
    "tasks",
)
_TEXTS = ("author", "description", "name")
_TASK_KEYS = ("bounds", "env", "variants")


class Declared(Struct, frozen=True):
    """The declaration of one task: its environment, its bounds, its variants' parameters."""

    env: str | None = None
    bounds: tuple[float, float] | None = None
    variants: Mapping[str, Mapping[str, Any]] = {}


class Header(Struct, frozen=True):
    """The header of a syllabus: `tasks` by folded name, other keys unchanged in `info`."""

    name: str
    tasks: Mapping[str, Declared]
    info: Mapping[str, Any]


def read_header(value: Mapping[str, Any], name: str, note: Notes) -> Header:
    """Read the header of a decoded syllabus. Note its problems, and leave out faulty entries."""
    info: dict[str, Any] = {}
    for key, content in value.items():
        if key != "instructions" and duplicate_key(content) is not None:
            note("error", (key,), f"in {key!r} the key {duplicate_key(content)!r} occurs twice", "keep one of them")
        if key in ("input_file", "instructions", "scenario", "tasks"):
            continue
        if not is_finite(content):
            note("error", (key,), f"{key!r} holds a number that is not finite", "write a finite number, or null")
            continue
        if key not in _KNOWN:
            similar = closest(key, [known for known in _KNOWN if known not in value])
            hint = (
                f"did you mean {similar!r}?"
                if similar
                else "remove it, or keep it: it is recorded and otherwise ignored"
            )
            note("warning", (key,), f"the header has no {key!r}", hint)
        elif key in _TEXTS and not isinstance(content, str):
            note("error", (key,), f"{key!r} is {quote(content)}", "write it as text, in double quotes")
            continue
        elif key in _WORDS and (not isinstance(content, str) or content.lower() not in map(str.lower, _WORDS[key])):
            note("warning", (key,), f"{key!r} is {quote(content)}", f"L2Logger knows {', '.join(_WORDS[key])}")
        if key != "name":
            info[key] = content
    for key in value.duplicates if isinstance(value, DuplicateKeys) else ():
        note("error", (key,), f"the key {key!r} occurs twice", "keep one of them: only the last would count")
    title = value.get("name")
    return Header(
        title if isinstance(title, str) and title.isprintable() and title else name,
        _tasks(value.get("tasks", {}), note),
        info,
    )


def _tasks(value: Any, note: Notes) -> dict[str, Declared]:
    if not isinstance(value, dict):
        note("error", ("tasks",), f"'tasks' is {quote(value)}", 'write {"Pong": {"env": …, "bounds": [low, high]}}')
        return {}
    tasks: dict[str, Declared] = {}
    for name, content in value.items():
        steps: Steps = ("tasks", name)
        if not isinstance(content, dict):
            note("error", steps, f"task {name!r} is {quote(content)}", 'write {"env": …, "bounds": [low, high]}')
            continue
        if name.lower() in tasks:
            note("error", steps, f"task {name!r} is described twice (names fold case)", "keep one description")
            continue
        for key in content:
            if key not in _TASK_KEYS:
                note("warning", (*steps, key), f"a task has no {key!r}", nearest(key, _TASK_KEYS))
        env = content.get("env")
        if env is not None and not isinstance(env, str):
            note("error", (*steps, "env"), f"'env' is {quote(env)}", "write the environment's name as text")
            env = None
        tasks[name.lower()] = Declared(
            env,
            _bounds(content.get("bounds"), steps, note),
            _variants(content.get("variants", {}), steps, note),
        )
    return tasks


def _bounds(value: Any, steps: Steps, note: Notes) -> tuple[float, float] | None:
    if value is None:
        return None
    if (
        isinstance(value, list)
        and len(value) == 2
        and all(isinstance(end, int | float) and not isinstance(end, bool) for end in value)
        and all(abs(end) < 1e300 and not math.isnan(end) for end in value)
        and value[0] < value[1]
    ):
        return float(value[0]), float(value[1])
    note("error", (*steps, "bounds"), f"'bounds' is {quote(value)}", "write [low, high], two increasing numbers")
    return None


def _variants(value: Any, steps: Steps, note: Notes) -> dict[str, Mapping[str, Any]]:
    if not isinstance(value, dict) or not all(isinstance(params, dict) for params in value.values()):
        note(
            "error",
            (*steps, "variants"),
            f"'variants' is {quote(value)}",
            'name each variant with its parameters: {"wide": {"bot/paddle/width": 0.3}}',
        )
        return {}
    return {name.lower(): params for name, params in value.items()}


# --- instructions --------------------------------------------------------------------------------


class EpisodeSpec(Struct, frozen=True, eq=False):
    """A task with one parameter set, as the file has it; `key` identifies the set. Equal episodes are one object."""

    name: str
    variant: str | None
    params: Mapping[str, Any]
    key: tuple[Any, ...]


class Run(Struct, frozen=True, eq=False):
    """Equal episodes in a row."""

    phase: str
    subtype: Subtype
    episode: EpisodeSpec
    length: int
    in_steps: bool
    info: Mapping[str, Any]
    steps: Steps

    @property
    def place(self) -> tuple[object, ...]:
        """Equal for runs of one parameter set that are one block if they follow each other."""
        return self.phase, self.subtype, self.in_steps, self.episode.key


def runs(instructions: Iterable[tuple[Steps, Any]], header: Header, note: Notes) -> list[Run]:
    """Return the runs of `instructions`, each given with its place; problems go to `note`."""
    reader = _Reader(header, note)
    for steps, instruction in instructions:
        reader.read(instruction, steps, 1)
    reader.close_phase()
    return reader.runs


class _Reader:
    def __init__(self, header: Header, note: Notes) -> None:
        self.runs: list[Run] = []
        self._header = header
        self._note = note
        self._phase: str | None = None
        self._phase_steps: Steps = ()
        self._phase_order = (-1, 0)
        self._phase_used = True
        self._trained: set[int] = set()
        self._subtype: Subtype = "wake"
        self._info: Mapping[str, Any] = {}
        self._looping = False
        self._is_full = False
        self._episodes: dict[tuple[str, str | None, tuple[Any, ...]], EpisodeSpec] = {}
        self._forms: Mapping[str, Callable[[dict[str, Any], Steps, int, bool], None]] = {
            "$episode": self._read_episode,
            "$info": self._read_info,
            "$phase": self._read_phase,
            "$repeat": self._read_repeat,
        }

    def read(self, instruction: Any, steps: Steps, times: int, in_steps: bool = False) -> None:
        """Follow one instruction `times` times, or an episode for that many steps."""
        if not isinstance(instruction, dict):
            self._error(steps, f"an instruction is an object, not {quote(instruction)}", 'write {"$episode": "Pong"}')
            return
        for key in instruction.duplicates if isinstance(instruction, DuplicateKeys) else ():
            self._error(steps, f"the key {key!r} occurs twice", "keep one of them: only the last would count")
        words = [key for key in instruction if key in self._forms]
        if len(words) == 1:
            self._forms[words[0]](instruction, steps, times, in_steps)
        elif words:
            self._error(steps, f"{' and '.join(words)} in one instruction", "give each one its own instruction")
        else:
            named = next((key for key in instruction if key.startswith("$")), None)
            what = f"unknown word {named!r}" if named else "an instruction without a $ word"
            self._error(steps, what, nearest(named or "", self._forms))
            self._phase_used = True  # it was meant to hold something

    def _read_phase(self, instruction: dict[str, Any], steps: Steps, times: int, in_steps: bool) -> None:  # noqa: ARG002
        self._only(instruction, steps, ("$phase", "subtype"))
        phase, subtype = instruction["$phase"], instruction.get("subtype", "wake")
        match = _PHASE.fullmatch(phase) if isinstance(phase, str) else None
        if subtype not in ("wake", "sleep"):
            self._error(steps, f"'subtype' is {quote(subtype)}", 'write "wake" or "sleep"')
            subtype = "wake"
        if match is None:
            self._error(
                steps,
                f"$phase is {quote(phase)}",
                'write a number and "train", "test" or "probe", as in "1.train" or "1.test"',
            )
            return
        if times > 1 or self._looping:
            self._error(steps, "a $phase inside a $repeat", "write the phases out: their numbers must increase")
            return
        self._check_order(phase, int(match[1]), match[2], subtype, steps)
        self.close_phase()
        self._phase, self._subtype, self._phase_steps, self._phase_used = phase, subtype, steps, False

    def _check_order(self, phase: str, number: int, side: str, subtype: str, steps: Steps) -> None:
        order = (number, int(side == "test"))
        if order == (0, 0):
            self._error(
                steps, f"there is no phase {phase}", 'learning starts with "1.train"; only "0.test" comes before it'
            )
        elif side == "probe" and number not in self._trained:
            self._error(steps, f"{phase} outside {number}.train", f'put "{number}.train" before it, and go on after it')
        elif number and side == "test" and not self._trained:
            self._error(
                steps, f"{phase} before any training", 'an evaluation before the first learning block is phase "0.test"'
            )
        elif self._phase is None and number > 1:
            self._error(steps, f"the first phase is {phase}", 'number phases from 1 (or start with "0.test")')
        elif order < self._phase_order or (phase == self._phase and subtype == self._subtype):
            self._error(steps, f"phase {phase} after {self._phase}", "use increasing numbers, train before test")
        elif side == "train" and not self._trained and number > 1:
            self._error(steps, f"the first training phase is {phase}", 'number phases from 1: "1.train"')
        elif number and side == "test" and number not in self._trained:
            self._warn(
                steps, f"{phase} tests what no {number}.train taught", "give it the number of the training before"
            )
        self._phase_order = max(order, self._phase_order)
        if side == "train":
            self._trained.add(number)

    def close_phase(self) -> None:
        """Report the current phase if it has no episode."""
        if not self._phase_used:
            self._warn(self._phase_steps, f"phase {self._phase} holds no episode", "remove it, or fill it")

    def _read_info(self, instruction: dict[str, Any], steps: Steps, times: int, in_steps: bool) -> None:  # noqa: ARG002
        self._only(instruction, steps, ("$info",))
        info = instruction["$info"]
        if not isinstance(info, dict):
            self._error(steps, f"$info is {quote(info)}", 'write an object: {"disable_updates": true}, or {} to end it')
            return
        frozen = info.get("disable_updates", False)
        if not isinstance(frozen, bool):
            self._error(steps, f"'disable_updates' is {quote(frozen)}", "write true or false")
        elif not is_finite(info):
            self._error(steps, "$info holds a number that is not finite", "write a finite number")
        elif duplicate_key(info) is not None:
            self._error(steps, f"in $info the key {duplicate_key(info)!r} occurs twice", "keep one of them")
        else:
            self._info = info

    def _read_repeat(self, instruction: dict[str, Any], steps: Steps, times: int, in_steps: bool) -> None:
        self._phase_used = True
        self._only(instruction, steps, ("$repeat", "count", "steps"))
        count = self._count(instruction, steps)
        if count is None:
            return
        body, inner, in_steps = instruction["$repeat"], (*steps, "$repeat"), "steps" in instruction
        most = LONGEST * (1000 if in_steps else 1)
        if times * count > most:  # the number itself may have thousands of digits
            self._error(steps, f"repeats more than {most:,} times", "no block is that long; lower the count")
        elif in_steps and not (isinstance(body, dict) and "$episode" in body):
            self._error(steps, "'steps' over more than one $episode", 'give "steps" to each episode\'s own $repeat')
        elif isinstance(body, list):
            self._unroll(body, inner, times * count)
        else:
            self.read(body, inner, times * count, in_steps)

    def _count(self, instruction: dict[str, Any], steps: Steps) -> int | None:
        keys = [key for key in ("count", "steps") if key in instruction]
        if len(keys) != 1:
            problem = "both 'count' and 'steps'" if keys else "no 'count'"
            self._error(steps, f"$repeat with {problem}", 'write {"$repeat": …, "count": N}')
            return None
        count = instruction[keys[0]]
        if isinstance(count, float) and count.is_integer():
            count = int(count)
        if not isinstance(count, int) or isinstance(count, bool) or count < 1:
            self._error(steps, f"{keys[0]!r} is {quote(count)}", "write a whole number from 1")
            return None
        return count

    def _unroll(self, body: list[Any], steps: Steps, times: int) -> None:
        """Follow several instructions `times` times: the second round may differ from the first by its `$info`."""
        if not body:
            self._error(steps, "$repeat of nothing", "put an instruction into it, or remove it")
            return
        outer, self.runs = self.runs, []
        was_looping, info = self._looping, self._info
        self._looping = was_looping or times > 1
        for index, instruction in enumerate(body):
            self.read(instruction, (*steps, index), 1)
        # From the second round on, the runs before the first $info have the info that the previous round left.
        first = self.runs
        repeated = [replace(run, info=self._info) if run.info is info else run for run in first]
        self.runs, self._looping = outer, was_looping
        if not first:
            return
        if len(first) == 1:
            self._append(replace(first[0], length=first[0].length * times))
        elif len(outer) + len(first) * times > MOST_BLOCKS:
            self._error(
                steps,
                f"gives {len(first) * times:,} blocks",
                f"a syllabus has at most {MOST_BLOCKS:,}; repeat each episode more often, the whole less often",
            )
        else:
            for number in range(times):
                for run in repeated if number else first:
                    self._append(run)

    def _read_episode(self, instruction: dict[str, Any], steps: Steps, times: int, in_steps: bool) -> None:
        self._phase_used = True
        episode = self._episode(instruction, steps)
        if episode is None:
            return
        if self._phase is None:
            self._error(steps, f"episode {episode.name!r} outside any phase", 'put {"$phase": "1.train"} before it')
            return
        if in_steps and is_drawn(episode.params, "$linear"):
            self._error(steps, "$linear in a block measured in steps", "give the block a count: $linear needs its end")
        if self._info.get("disable_updates") is True and self._phase.endswith("train"):
            self._warn(steps, f"disable_updates in {self._phase}", "the phase decides: these episodes are learned from")
        place = instruction_steps(steps)
        self._append(Run(self._phase, self._subtype, episode, times, in_steps, self._info, place))

    def _episode(self, instruction: dict[str, Any], steps: Steps) -> EpisodeSpec | None:
        name, variant = instruction["$episode"], None
        params = {key: value for key, value in instruction.items() if not key.startswith("$")}
        unknown = [key for key in instruction if key.startswith("$") and key not in _EPISODE_WORDS]
        for key in unknown:
            self._error(steps, f"unknown word {key!r} in an $episode", nearest(key, _EPISODE_WORDS))
        if not self._is_name(name, "$episode", steps):
            return None
        if "$variant" in instruction:
            if not self._is_name(instruction["$variant"], "$variant", steps):
                return None
            variant = instruction["$variant"].lower()
            declared = self._header.tasks.get(name.lower())
            params = {**(declared.variants.get(variant, {}) if declared else {}), **params}
        try:
            identity = (name.lower(), variant, parameter_key(params))
            return (
                None
                if unknown
                else self._episodes.setdefault(identity, EpisodeSpec(name, variant, params, identity[2]))
            )
        except UnfitParameterError as problem:
            self._error(steps, problem.detail, problem.fix)
            return None

    def _append(self, run: Run) -> None:
        if self.runs and self.runs[-1].episode is run.episode and self.runs[-1].place == run.place:
            last = self.runs.pop()
            run = replace(last, length=last.length + run.length)
        if run.length > LONGEST * (1000 if run.in_steps else 1):
            self._error(
                run.steps, f"a block of {run.length:,}", f"no block is longer than {LONGEST:,}; lower its count"
            )
        elif len(self.runs) < MOST_BLOCKS:
            self.runs.append(run)
        elif not self._is_full:
            self._is_full = True
            self._error(run.steps, f"more than {MOST_BLOCKS:,} blocks", "repeat each episode more often in a row")

    def _is_name(self, name: Any, word: str, steps: Steps) -> bool:
        if not isinstance(name, str) or not name or name != name.strip() or not name.isprintable():
            self._error(steps, f"{word} is {quote(name)}", "write a name: text, without spaces around it")
            return False
        if len(name) > LONGEST_NAME:
            self._error(steps, f"{word} is {quote(name)}", f"write a name of at most {LONGEST_NAME} characters")
            return False
        if re.search(UNSAFE_PATH, name):
            self._error(steps, f"{word} is {quote(name)}", "write a name without '../': it may become a folder's")
            return False
        if word == "$variant" and "_" in name:
            self._error(
                steps,
                f"the variant {name!r} has an underscore",
                f"the last underscore of a logged name divides task and variant; write {name.replace('_', '-')!r}",
            )
            return False
        return True

    def _only(self, instruction: dict[str, Any], steps: Steps, known: tuple[str, ...]) -> None:
        for key in instruction:
            if key not in known:
                self._error(
                    steps,
                    f"unknown key {key!r} beside {known[0]}",
                    nearest(key, known[1:]) if known[1:] else "remove it",
                )

    def _error(self, steps: Steps, what: str, fix: str) -> None:
        self._note("error", steps, what, fix)

    def _warn(self, steps: Steps, what: str, fix: str) -> None:
        self._note("warning", steps, what, fix)
