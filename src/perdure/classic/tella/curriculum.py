"""tella's curricula: blocks of tasks in variants, each with a number of episodes or steps; and those of CartPole."""

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
"""Curricula by their names on the command line."""


class ValidationError(PerdureError, ValueError):
    """The curriculum is invalid."""


class TellaTransition(NamedTuple):
    """One step: observation, action, reward, whether the episode ended, and the next observation."""

    observation: Any
    action: Any
    reward: float | None
    done: bool
    next_observation: Any


Transition = TellaTransition  # tella's name


class TaskVariant:
    """One environment, for a number of episodes or of steps."""

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
        """Raise ValidationError if the environment does not take the parameters."""
        validate_params(self.task_cls, list(self.params))

    def make_env(self) -> Any:
        """Return the environment: one of Gymnasium, or one written for gym."""
        return self.task_cls(**self.params)


class TaskBlock:
    """Variants of one task, one after the other."""

    def __init__(self, task_label: str, task_variants: Iterable[TaskVariant]) -> None:
        self.task_label = task_label
        self._task_variants = task_variants

    def task_variants(self) -> Iterable[TaskVariant]:
        """Return the variants, also if they came from a generator and were read before."""
        self._task_variants, variants = tee(self._task_variants)
        return variants


class TellaBlock(ABC):
    """Tasks, one after the other, with or without learning."""

    @property
    @abstractmethod
    def is_learning_allowed(self) -> bool:
        """True for a block of learning."""

    def __init__(self, task_blocks: Iterable[TaskBlock]) -> None:
        self._task_blocks = task_blocks

    def task_blocks(self) -> Iterable[TaskBlock]:
        """Return the tasks, also if they came from a generator and were read before."""
        self._task_blocks, blocks = tee(self._task_blocks)
        return blocks


Block = TellaBlock  # tella's name


class LearnBlock(TellaBlock):
    """A block for learning."""

    is_learning_allowed = True


class EvalBlock(TellaBlock):
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
        """Return the same curriculum from its beginning; to be overridden if the arguments differ."""
        return self.__class__(self.rng_seed, self.config_file)

    def learn_blocks_and_eval_blocks(self) -> Iterable[TellaBlock]:
        """Return the blocks in order."""
        raise NotImplementedError

    def validate(self) -> None:
        """Raise `ValidationError` if the curriculum is invalid; to be overridden."""


class InterleavedEvalCurriculum(AbstractCurriculum):
    """One evaluation block, the same before, between and after the learning blocks."""

    def __init__(self, rng_seed: int, config_file: str | None = None) -> None:
        super().__init__(rng_seed, config_file)
        self.eval_rng_seed = self.rng.bit_generator.random_raw()

    def learn_blocks(self) -> Iterable[LearnBlock]:
        """Return the learning blocks in order."""
        raise NotImplementedError

    def eval_block(self) -> EvalBlock:
        """Return the evaluation block."""
        raise NotImplementedError

    def learn_blocks_and_eval_blocks(self) -> Iterable[TellaBlock]:
        """Yield the evaluation, then each learning block followed by the evaluation."""
        yield self.eval_block()
        for block in self.learn_blocks():
            yield block
            yield self.eval_block()


def split_task_variants(task_variants: Iterable[TaskVariant]) -> Iterator[TaskBlock]:
    """Yield a task block for each run of variants of one task."""
    for label, variants in groupby(task_variants, key=lambda variant: variant.task_label):
        yield TaskBlock(label, list(variants))


def simple_learn_block(task_variants: Iterable[TaskVariant]) -> LearnBlock:
    """Return a learning block of these variants."""
    return LearnBlock(split_task_variants(task_variants))


def simple_eval_block(task_variants: Iterable[TaskVariant]) -> EvalBlock:
    """Return an evaluation block of these variants."""
    return EvalBlock(split_task_variants(task_variants))


def summarize_curriculum(curriculum: AbstractCurriculum) -> str:
    """Return an outline of blocks, tasks and variants, as text."""
    blocks: list[str] = []
    for number, block in enumerate(curriculum.learn_blocks_and_eval_blocks(), 1):
        tasks: list[str] = []
        for index, task in enumerate(block.task_blocks(), 1):
            variants = [
                f"\n\t\t\tTask variant {place}, {variant.task_label} - {variant.variant_label}: {_length(variant)}."
                for place, variant in enumerate(task.task_variants(), 1)
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
    """Call the curriculum's `validate`; raise ValidationError for empty or mixed blocks and unknown parameters."""
    curriculum.validate()
    expected: Any = None
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
            labels = {variant.task_label for variant in variants}
            if len(labels) > 1:
                raise ValidationError(
                    f"holds variants of several tasks: {', '.join(sorted(labels))}",
                    "give each task a block of its own",
                    where=where,
                )
            for place, variant in enumerate(variants):
                try:
                    variant.validate()
                except ValidationError as problem:
                    raise problem.with_place(where=f"{where.lower()}, task variant #{place}") from None
                if not repeated and place and variant.variant_label == variants[place - 1].variant_label:
                    repeated = True
                    warnings.warn(
                        f"neighbouring variants of task {variant.task_label!r} are both called "
                        f"{variant.variant_label!r}",
                        stacklevel=2,
                    )
                spaces = environment_spaces(variant.task_cls)
                expected = spaces if expected is None else expected
                if spaces != expected:
                    raise ValidationError(
                        f"{variant.task_label} has other spaces than the environments before it",
                        "let all have the same: an agent is made for one pair of them",
                        where=where,
                    )
    if empty:
        raise ValidationError("This curriculum is empty", "give it a block")


@lru_cache
def environment_spaces(make: Callable[[], Any]) -> tuple[Any, Any]:
    """Return the observation and action spaces of an environment."""
    env = make()
    spaces = env.observation_space, env.action_space
    env.close()
    return spaces


def validate_params(fn: Callable[..., Any], param_names: Sequence[str]) -> None:
    """Raise `ValidationError` if `fn` does not take exactly these names; a function with `**kwargs` takes any.

    The messages are tella's, because scripts and tests search for them.
    """
    signature = inspect.signature(fn)
    parameters = signature.parameters.values()
    for parameter in parameters:
        if parameter.kind is parameter.VAR_POSITIONAL:
            raise ValidationError(f"*args not allowed. Found {parameter.name} in {signature}", "name what it takes")
        if parameter.kind is parameter.POSITIONAL_ONLY:
            raise ValidationError(
                f"Positional only arguments not allowed. Found {parameter.name} in {signature}",
                "let it be given by name",
            )
    takes_any = any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters)
    unknown = [name for name in param_names if name not in signature.parameters]
    if unknown and not takes_any:
        raise ValidationError(f"Parameters not accepted: {unknown} in {signature}", "leave them out, or take them")
    required = [
        parameter.name
        for parameter in parameters
        if parameter.default is parameter.empty and parameter.kind is not parameter.VAR_KEYWORD
    ]
    missing = [name for name in required if name not in param_names]
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


# --- CartPole ------------------------------------------------------------------------------------

_MAX_STEPS = 200  # steps of an episode, as in CartPole-v0


def _cart_pole() -> Any:
    from gymnasium.envs.classic_control import CartPoleEnv
    from gymnasium.wrappers import TimeLimit

    return TimeLimit(CartPoleEnv(), max_episode_steps=_MAX_STEPS)


def _episodes(count: int, seed: int) -> list[TaskVariant]:
    return [TaskVariant(_cart_pole, num_episodes=count, task_label="CartPole", rng_seed=seed)]


class SimpleCartPoleCurriculum(AbstractCurriculum):
    """Five episodes of learning, and one of evaluation."""

    def learn_blocks_and_eval_blocks(self) -> Iterable[TellaBlock]:
        """Yield the two blocks."""
        yield simple_learn_block(_episodes(5, self.rng.bit_generator.random_raw()))
        yield simple_eval_block(_episodes(1, self.rng.bit_generator.random_raw()))


class CartPole1000Curriculum(InterleavedEvalCurriculum):
    """Ten times a hundred episodes of learning, with ten of evaluation before, between and after."""

    def learn_blocks(self) -> Iterable[LearnBlock]:
        """Yield ten blocks of a hundred episodes."""
        for _ in range(10):
            yield simple_learn_block(_episodes(100, self.rng.bit_generator.random_raw()))

    def eval_block(self) -> EvalBlock:
        """Return ten episodes, always the same."""
        return simple_eval_block(_episodes(10, self.eval_rng_seed))


curriculum_registry["SimpleCartPole"] = SimpleCartPoleCurriculum
curriculum_registry["CartPole-1000"] = CartPole1000Curriculum
