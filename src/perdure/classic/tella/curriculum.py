"""tella's curricula: blocks of tasks in variants, each lived for so many episodes or steps."""

from __future__ import annotations

import inspect
import os
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from importlib import import_module
from itertools import groupby, tee
from typing import Any, NamedTuple

import numpy as np

from perdure.errors import PerdureError
from perdure.text import plural

Observation = Any
Action = Any
curriculum_registry: dict[str, Callable[..., AbstractCurriculum]] = {}
"""Name on the command line → curriculum."""


class ValidationError(PerdureError, ValueError):
    """A curriculum that makes no sense."""


class Transition(NamedTuple):
    """One step: what was seen, done and gained, whether the episode ended, and what is seen then."""

    observation: Any
    action: Any
    reward: float | None
    done: bool
    next_observation: Any


class TaskVariant:
    """One environment, for so many episodes or so many steps."""

    def __init__(
        self,
        task_cls: Any,
        *,
        rng_seed: int,
        params: Mapping[str, Any] | None = None,
        task_label: str | None = None,
        variant_label: str | None = "Default",
        num_episodes: int | None = None,
        num_steps: int | None = None,
    ) -> None:
        if (num_episodes is None) == (num_steps is None):
            raise ValidationError("a task variant has num_episodes or num_steps, and not both", "give one of them")
        self.task_cls = task_cls
        self.params = dict(params or {})
        self.task_label: str = task_cls.__name__ if task_label is None else task_label
        self.variant_label = variant_label
        self.rng_seed = rng_seed
        self.num_episodes = num_episodes
        self.num_steps = num_steps

    def validate(self) -> None:
        """Raise where the environment does not take the parameters."""
        validate_params(self.task_cls, list(self.params))

    def make_env(self) -> Any:
        """The environment: one of Gymnasium, or one written for gym."""
        return self.task_cls(**self.params)


class TaskBlock:
    """Variants of one task, one after the other."""

    def __init__(self, task_label: str, task_variants: Iterable[TaskVariant]) -> None:
        self.task_label = task_label
        self._task_variants = task_variants

    def task_variants(self) -> Iterable[TaskVariant]:
        """The variants; also where they came from a generator, as often as they are asked for."""
        self._task_variants, found = tee(self._task_variants)
        return found


class Block(ABC):
    """Tasks, one after the other, in which learning is allowed or not."""

    @property
    @abstractmethod
    def is_learning_allowed(self) -> bool:
        """Whether this is for learning."""

    def __init__(self, task_blocks: Iterable[TaskBlock]) -> None:
        self._task_blocks = task_blocks

    def task_blocks(self) -> Iterable[TaskBlock]:
        """The tasks, as often as they are asked for."""
        self._task_blocks, found = tee(self._task_blocks)
        return found


class LearnBlock(Block):
    """A block for learning."""

    is_learning_allowed = True


class EvalBlock(Block):
    """A block for evaluation, whose rewards the agent does not see."""

    is_learning_allowed = False


class AbstractCurriculum:
    """A sequence of blocks, drawn from a seed; a YAML file may configure it."""

    def __init__(self, rng_seed: int, config_file: str | None = None) -> None:
        self.rng_seed = rng_seed
        self.rng = np.random.default_rng(rng_seed)
        self.config: Any = {} if config_file is None else _yaml(config_file)
        self.config_file = config_file

    def copy(self) -> AbstractCurriculum:
        """The same curriculum from its beginning; to be overridden where the arguments are others."""
        return self.__class__(self.rng_seed, self.config_file)

    def learn_blocks_and_eval_blocks(self) -> Iterable[Block]:
        """The blocks in order."""
        raise NotImplementedError

    def validate(self) -> None:
        """Raise `ValidationError` where the curriculum makes no sense; nothing unless it is overridden."""


class InterleavedEvalCurriculum(AbstractCurriculum):
    """One evaluation block, the same before, between and after the learning blocks."""

    def __init__(self, rng_seed: int, config_file: str | None = None) -> None:
        super().__init__(rng_seed, config_file)
        self.eval_rng_seed = self.rng.bit_generator.random_raw()

    def learn_blocks(self) -> Iterable[LearnBlock]:
        """The learning blocks in order."""
        raise NotImplementedError

    def eval_block(self) -> EvalBlock:
        """The evaluation block."""
        raise NotImplementedError

    def learn_blocks_and_eval_blocks(self) -> Iterable[Block]:
        """The evaluation, and after each learning block the evaluation again."""
        yield self.eval_block()
        for block in self.learn_blocks():
            yield block
            yield self.eval_block()


def split_task_variants(task_variants: Iterable[TaskVariant]) -> Iterator[TaskBlock]:
    """Neighbours of one task as a block of tasks each."""
    for label, variants in groupby(task_variants, key=lambda one: one.task_label):
        yield TaskBlock(label, list(variants))


def simple_learn_block(task_variants: Iterable[TaskVariant]) -> LearnBlock:
    """A learning block of these variants."""
    return LearnBlock(split_task_variants(task_variants))


def simple_eval_block(task_variants: Iterable[TaskVariant]) -> EvalBlock:
    """An evaluation block of these variants."""
    return EvalBlock(split_task_variants(task_variants))


def summarize_curriculum(curriculum: AbstractCurriculum) -> str:
    """An outline of blocks, tasks and variants, as text."""
    blocks: list[str] = []
    for number, block in enumerate(curriculum.learn_blocks_and_eval_blocks(), 1):
        tasks: list[str] = []
        for index, task in enumerate(block.task_blocks(), 1):
            variants = [
                f"\n\t\t\tTask variant {place}, {one.task_label} - {one.variant_label}: {_length(one)}."
                for place, one in enumerate(task.task_variants(), 1)
            ]
            head = f"\n\t\tTask {index}, {task.task_label}: {plural(len(variants), 'variant')}"
            tasks.append(head + "".join(variants))
        kind = "learning" if block.is_learning_allowed else "evaluation"
        blocks.append(f"\n\n\tBlock {number}, {kind}: {plural(len(tasks), 'task')}{''.join(tasks)}")
    return f"This curriculum has {plural(len(blocks), 'block')}{''.join(blocks)}"


def _length(variant: TaskVariant) -> str:
    if variant.num_episodes is not None:
        return plural(variant.num_episodes, "episode")
    return plural(variant.num_steps or 0, "step")


def validate_curriculum(curriculum: AbstractCurriculum) -> None:
    """Raise `ValidationError` where something is empty, mixed, or takes no such parameter; its own `validate` too."""
    curriculum.validate()
    spaces: set[int] = set()
    known: list[Any] = []
    empty = True
    repeated = False
    for number, block in enumerate(curriculum.learn_blocks_and_eval_blocks()):
        empty, tasks = False, list(block.task_blocks())
        if not tasks:
            raise ValidationError(f"Block #{number} is empty", "give it a task block")
        for index, task in enumerate(tasks):
            where = f"Block #{number}, task block #{index}"
            variants = list(task.task_variants())
            if not variants:
                raise ValidationError(f"{where} is empty", "give it a task variant")
            labels = {one.task_label for one in variants}
            if len(labels) > 1:
                raise ValidationError(
                    f"holds variants of several tasks: {', '.join(sorted(labels))}",
                    "give each task a block of its own",
                    where=where,
                )
            for place, one in enumerate(variants):
                _validate_variant(one, f"block #{number}, task block #{index}, task variant #{place}")
                if not repeated and place and one.variant_label == variants[place - 1].variant_label:
                    repeated = True
                    warnings.warn(
                        f"neighbouring variants of task {one.task_label!r} are both called {one.variant_label!r}",
                        stacklevel=2,
                    )
                found = _spaces_of(one.task_cls)
                if id(found) not in spaces:
                    spaces.add(id(found))
                    known.append(found)
                    if found != known[0]:
                        raise ValidationError(
                            f"{one.task_label} has other spaces than the environments before it",
                            "let all have the same: an agent is made for one pair of them",
                            where=where,
                        )
    if empty:
        raise ValidationError("This curriculum is empty", "give it a block")


def _validate_variant(variant: TaskVariant, where: str) -> None:
    try:
        variant.validate()
    except ValidationError as problem:
        raise problem.at(where=where) from None


@lru_cache
def _spaces_of(make: Callable[[], Any]) -> tuple[Any, Any]:
    env = make()
    spaces = env.observation_space, env.action_space
    env.close()
    return spaces


def validate_params(fn: Callable[..., Any], param_names: Sequence[str]) -> None:
    """Raise `ValidationError` where `fn` does not take just these names; who takes `**kwargs` takes any.

    What is wrong is said as tella says it, because scripts and tests look for its words.
    """
    signature = inspect.signature(fn)
    parameters = signature.parameters.values()
    for one in parameters:
        if one.kind is one.VAR_POSITIONAL:
            raise ValidationError(f"*args not allowed. Found {one.name} in {signature}", "name what it takes")
        if one.kind is one.POSITIONAL_ONLY:
            raise ValidationError(
                f"Positional only arguments not allowed. Found {one.name} in {signature}", "let it be given by name"
            )
    takes_any = any(one.kind is one.VAR_KEYWORD for one in parameters)
    strange = [name for name in param_names if name not in signature.parameters]
    if strange and not takes_any:
        raise ValidationError(f"Parameters not accepted: {strange} in {signature}", "leave them out, or take them")
    needed = [one.name for one in parameters if one.default is one.empty and one.kind is not one.VAR_KEYWORD]
    missing = [name for name in needed if name not in param_names]
    if missing:
        raise ValidationError(f"Missing parameters: {missing} in {signature}", "give them in params")


def _yaml(file: str | os.PathLike[str]) -> Any:
    try:
        library = import_module("yaml")
    except ImportError:
        raise PerdureError(
            "a curriculum's config file is YAML, and pyyaml is absent", "pip install pyyaml", file=file
        ) from None
    with open(file) as text:
        return library.safe_load(text)
