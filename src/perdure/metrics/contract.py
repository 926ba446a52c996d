"""Check the contract of metrics: `perdure.testing.check_metric`."""

from __future__ import annotations

import math
import re
import time
from collections.abc import Iterator, Sequence

import numpy as np

from perdure.curves.arrays import Array
from perdure.curves.prepare import curves as curves_of
from perdure.lazy import pl
from perdure.log.model import Lifetime
from perdure.log.rules import STANDARD_COLUMNS, TYPES
from perdure.metrics.declare import Metric
from perdure.metrics.measure import Context, FormulaError, evaluate, experts_at, measure
from perdure.scenario.compose import compose
from perdure.scenario.model import Block, Scenario
from perdure.scenario.sites import LIFETIME, Site, key_text

_SECONDS = 2.0
_MANY_BLOCKS = 10_000
_PROBED = compose("dispersed", ("a", "b"), learn=40, evaluate=3, evaluate_every=5).scenario.blocks


def check_metric(metric: Metric, *, lifetimes: int = 40, seed: int = 0) -> None:
    """Assert that `metric` fulfils the contract of metrics.

    It has a summary and a need. Its sites depend only on the scenario, name existing blocks, and are found in linear
    time. On random lifetimes it gives a finite value or a reason exactly at its sites (if it needs experts, at those
    that have some). It does not change its arguments.
    """
    _check_declaration(metric)
    rng = np.random.default_rng(seed)
    with_sites = 0
    for number in range(lifetimes):
        lifetime = lifetime_of(random_blocks(rng), rng, name=f"random lifetime {number}")
        with_sites += bool(_check_on(metric, lifetime, rng))
    for blocks in (_PROBED, [block for block in _PROBED if block.mode == "learn"]):
        with_sites += bool(_check_on(metric, lifetime_of(blocks, rng), rng))
    assert with_sites, (
        f"{metric.name}: none of {lifetimes} random lifetimes has a site; a metric that can never be read measures "
        f"nothing (it needs {metric.needs})"
    )
    assert not tuple(metric.sites(Scenario.of("empty", ()))), f"{metric.name}: a scenario without blocks has a site"
    _check_speed(metric)


def _check_declaration(metric: Metric) -> None:
    assert isinstance(metric, Metric), f"{metric!r} is no Metric; decorate the formula with @metric(sites)"
    name = metric.name
    assert re.fullmatch(r"[a-z][a-z0-9_]*", name), f"{name!r}: a metric's id is lower-case words with underscores"
    assert re.fullmatch(r"[^a-z].*\.", metric.summary), (
        f"{name}: the first docstring line must be a sentence that stands alone; found {metric.summary!r}"
    )
    assert not metric.needs.endswith("."), (
        f'{name}: the sites\' docstring completes "the scenario needs …": no full stop'
    )
    assert metric.better in ("higher", "lower"), f"{name}: better is {metric.better!r}; expected 'higher' or 'lower'"
    assert metric.threshold is None or math.isfinite(metric.threshold), f"{name}: its threshold is not finite"
    assert 0 <= metric.margin < math.inf, f"{name}: its margin is {metric.margin}; expected 0 or more"
    unnamed = [role for role, kind in metric.roles.items() if kind is None]
    assert not unnamed, f"{name}: the roles {', '.join(unnamed)} are not annotated; e.g. `before: Curve`"


def _check_on(metric: Metric, lifetime: Lifetime, rng: np.random.Generator) -> tuple[Site, ...]:
    labels = [task.label for task in lifetime.scenario.tasks]
    experts = [expert_of(task, rng) for task in labels if rng.random() < 0.7]
    curves = curves_of(lifetime, experts=experts)
    sites = tuple(metric.sites(curves.scenario))
    assert sites == tuple(metric.sites(curves.scenario)), f"{metric.name}: its sites differ from one walk to the next"
    for site in sites:
        _check_site(metric, site, curves.scenario)
    before = curves.values.copy(), curves.raw.copy()
    wanted: list[str] = []
    for site in sites:
        try:
            results = evaluate(metric, curves, site, Context())
        except FormulaError as problem:
            raise AssertionError(f"{metric.name} on {lifetime.id}: {problem}") from problem
        expected = not metric.expert or bool(experts_at(curves, site, Context()))
        assert (results is not None) == expected, (
            f"{metric.name}: at {key_text(site.key)} there is {'a' if expected else 'no'} site with its experts, "
            f"but {'no' if results is None else 'a'} result"
        )
        for result in results or ():
            assert (result.value is None) != (result.why is None), (
                f"{metric.name}: a result has a value or a reason, not both"
            )
        wanted += [key_text(site.key)] if results is not None else []
    measured = measure(metric, curves)
    assert set(measured.by) == set(wanted), f"{metric.name}: results are not exactly where the sites are"
    assert (measured.value is None) != (measured.why is None), f"{metric.name}: neither a value nor a reason"
    unchanged = all(np.array_equal(then, now) for then, now in zip(before, (curves.values, curves.raw), strict=True))
    assert unchanged, f"{metric.name}: its formula changes the curves it is given"
    return sites


def _check_site(metric: Metric, site: Site, scenario: Scenario) -> None:
    assert isinstance(site, Site), f"{metric.name}: its sites yield a {type(site).__name__}; expected Site(key, blocks)"
    tasks = {one for task in scenario.tasks for one in (task.label, task.name)}  # a source may be all its variants
    names = (site.key,) if isinstance(site.key, str) else site.key
    assert site.key == LIFETIME or (len(names) <= 2 and set(names) <= tasks), (
        f"{metric.name}: the key {site.key!r} is no task, ordered pair of tasks, or LIFETIME"
    )
    for role, blocks in site.blocks.items():
        inside = all(0 <= index < len(scenario.blocks) for index in blocks)
        assert inside, f"{metric.name}: the role {role!r} names blocks {blocks} of {len(scenario.blocks)}"


def _check_speed(metric: Metric) -> None:
    tasks = [f"task{index}" for index in range(20)]
    blocks = [
        Block("learn" if index % 21 == 0 else "evaluate", tasks[(index // 21 if index % 21 == 0 else index) % 20], 10)
        for index in range(_MANY_BLOCKS)
    ]
    scenario = Scenario.of("long", blocks)
    start = time.perf_counter()
    count = sum(1 for _ in metric.sites(scenario))
    spent = time.perf_counter() - start
    assert spent < _SECONDS, f"{metric.name}: {count} sites in {_MANY_BLOCKS} blocks took {spent:.1f} s; walk them once"


# --- random lifetimes ----------------------------------------------------------------------------


def random_blocks(rng: np.random.Generator, most_tasks: int = 4, most_blocks: int = 24) -> tuple[Block, ...]:
    """Return a scenario of any shape: tasks never learned or never evaluated, blocks of one experience, sleep."""
    tasks = [f"task{index}_{index % 2}" for index in range(rng.integers(1, most_tasks + 1))]
    sleepy = rng.random() < 0.2
    return tuple(
        Block(
            mode="learn" if rng.random() < 0.4 else "evaluate",
            task=str(rng.choice(tasks)),
            length=int(rng.choice([1, 2, 3, 7, 20, 40])),
            subtype="sleep" if sleepy and rng.random() < 0.3 else "wake",
            group=group,
        )
        for group in range(rng.integers(1, most_blocks + 1))
    )


def expert_of(task: str, rng: np.random.Generator, measure: str = "reward") -> Lifetime:
    """Return an expert: one or two learning blocks of one task."""
    blocks = [Block("learn", task, int(rng.integers(1, 60)), group=group) for group in range(rng.integers(1, 3))]
    return lifetime_of(blocks, rng, name=f"expert of {task}", measure=measure)


def lifetime_of(
    blocks: Sequence[Block],
    rng: np.random.Generator | None = None,
    *,
    values: Sequence[Sequence[float] | Array] | None = None,
    name: str = "life",
    measure: str = "reward",
) -> Lifetime:
    """Return a lifetime in memory that goes through `blocks`, with the given or with random values."""
    lengths = [block.length or 1 for block in blocks] if values is None else [len(given) for given in values]
    total = sum(lengths)
    found = np.concatenate([np.empty(0), *(values if values is not None else _random_values(blocks, lengths, rng))])

    def repeated(per_block: Sequence[object]) -> list[object]:
        return [value for value, length in zip(per_block, lengths, strict=True) for _ in range(length)]

    columns: dict[str, object] = {
        "block_num": repeated(_numbers(blocks)),
        "exp_num": list(range(total)),
        "worker_id": ["worker-default"] * total,
        "block_type": repeated([TYPES[block.mode] for block in blocks]),
        "block_subtype": repeated([block.subtype for block in blocks]),
        "task_name": repeated([block.task for block in blocks]),
        "task_params": ["{}"] * total,
        "exp_status": ["complete"] * total,
        "timestamp": [f"20240101T{at // 3600 % 24:02}{at // 60 % 60:02}{at % 60:02}.000000" for at in range(total)],
        measure: found,
    }
    frame = pl.DataFrame(columns, schema={**STANDARD_COLUMNS, measure: pl.Float64()}, strict=False)
    return Lifetime(id=name, experiences=frame, measures={measure: "higher"})


def _numbers(blocks: Sequence[Block]) -> list[int]:
    """Return the blocks' own numbers if they rise, else consecutive ones."""
    groups = [block.group for block in blocks]
    return groups if groups == sorted(groups) and len(set(groups)) > 1 else list(range(len(blocks)))


def _random_values(blocks: Sequence[Block], lengths: Sequence[int], rng: np.random.Generator | None) -> Iterator[Array]:
    rng = rng or np.random.default_rng(0)
    offset = rng.choice([0.0, 0.0, -5.0, 100.0])
    constant = {block.task for block in blocks if rng.random() < 0.05}
    for block, length in zip(blocks, lengths, strict=True):
        if block.task in constant:
            yield np.full(length, offset)
        else:
            yield offset + np.cumsum(rng.normal(0.05, 0.3, length)) + rng.normal(0, 0.2, length)
