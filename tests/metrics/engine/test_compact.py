"""What is held compactly is what was measured."""

import gc
import pickle

from hypothesis import given
from hypothesis import strategies as st

from perdure.metrics.engine import compact
from perdure.metrics.engine.blocks import BlockSummary
from perdure.metrics.engine.compact import CompactBlocks, CompactMetrics, same
from perdure.metrics.engine.flag import Flag
from perdure.metrics.engine.measured import Measured
from perdure.scenario.model import Block

NUMBERS = st.floats(allow_nan=False, allow_infinity=False)
KEYS = st.sampled_from(["pong", "maze", "pong→maze", "lifetime"])
PLACES = st.lists(st.integers(0, 9)).map(tuple)
MEASURED = st.builds(
    Measured,
    value=st.none() | NUMBERS,
    by=st.dictionaries(KEYS, st.lists(NUMBERS, max_size=3).map(tuple)),
    why=st.none() | st.just("needs an expert"),
    flags=st.lists(st.builds(Flag, st.text(max_size=3)), max_size=2).map(tuple),
    experts=st.dictionaries(KEYS, st.just(("ada", "bob"))),
    at=st.dictionaries(KEYS, st.lists(PLACES, max_size=2).map(tuple)),
)
METRICS = st.dictionaries(st.sampled_from("abcdef"), MEASURED)
BLOCKS = st.lists(
    st.builds(
        BlockSummary,
        index=st.just(0),
        block=st.builds(Block, st.sampled_from(["learn", "evaluate"]), KEYS, st.integers(1, 9)),
        mean=st.none() | NUMBERS,
        terminal=st.none() | NUMBERS,
        saturation=st.none() | NUMBERS,
        experiences_to_saturation=st.none() | st.integers(0, 2**50),
        squares=st.none() | NUMBERS,
        dormant_units=st.none() | NUMBERS,
    )
).map(lambda some: tuple(_at(place, one) for place, one in enumerate(some)))


def _at(place: int, one: BlockSummary) -> BlockSummary:
    facts = {name: getattr(one, name) for name in BlockSummary.__slots__}
    return BlockSummary(**{**facts, "index": place})


@given(st.lists(METRICS, max_size=3))
def test_metrics_come_back_to_the_last_digit_and_in_their_order(lives: list[dict[str, Measured]]) -> None:
    held = [CompactMetrics(one) for one in lives]  # together, as what one has in common with another is held once
    for metrics, kept in zip(lives, held, strict=True):
        for one in (kept, pickle.loads(pickle.dumps(kept))):
            assert one == metrics
            assert repr(one) == repr(metrics)  # which tells orders, and 0 from -0, apart
            assert {name: one.value(name) for name in metrics} == {name: each.value for name, each in metrics.items()}


@given(BLOCKS)
def test_blocks_come_back_to_the_last_digit(blocks: tuple[BlockSummary, ...]) -> None:
    kept = CompactBlocks(blocks)
    for one in (kept, pickle.loads(pickle.dumps(kept))):
        assert one == blocks
        assert repr(one) == repr(blocks)
        assert one[1:] == blocks[1:]
        assert [one[-1 - at] for at in range(len(one))] == list(reversed(blocks))


def test_what_lifetimes_have_in_common_is_held_once() -> None:
    def life(value: float) -> CompactMetrics:
        return CompactMetrics(
            {"kept": Measured(value, {"pong": (value,)}, at={"pong": ((1, 3),)}), "none": Measured(None)}
        )

    one, other, third = life(1.0), life(2.0), pickle.loads(pickle.dumps(life(3.0)))
    assert one["kept"].at is other["kept"].at
    assert one["kept"].at is third["kept"].at
    assert one["none"] is third["none"]
    assert (one["kept"].by["pong"], third["kept"].by["pong"]) == ((1.0,), (3.0,))


def test_what_nobody_holds_any_more_is_let_go() -> None:
    held = len(compact._held)
    one = CompactMetrics({"kept": Measured(None, why="said of this life alone")})
    assert len(compact._held) == held + 1
    del one
    gc.collect()
    assert len(compact._held) == held


def test_the_same_is_said_by_one_object_and_the_almost_same_by_another() -> None:
    assert same({"pong": (0.0, 1.0)}) is same({"pong": (0.0, 1.0)})
    assert repr(same((0.0, -0.0, 1, 1.0, True))) == "(0.0, -0.0, 1, 1.0, True)"
    assert repr(same((-0.0, 0.0, 1.0, 1, 1))) == "(-0.0, 0.0, 1.0, 1, 1)"


def test_what_cannot_be_packed_stays_what_it_is() -> None:
    value = {"how": lambda: None}
    assert same(value) is value
