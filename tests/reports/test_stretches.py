"""What is held compactly is what was drawn."""

import pickle

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from perdure.reports.sketch import thinned
from perdure.reports.stretches import Line, Stretch, Stretches
from perdure.scenario.model import Block

BLOCK = st.builds(Block, st.sampled_from(["learn", "evaluate"]), st.sampled_from(["pong", "maze"]), st.just(9))


@st.composite
def stretches(draw: st.DrawFn) -> tuple[Stretch, ...]:
    stepped = draw(st.booleans())
    found: list[Stretch] = []
    for index in range(draw(st.integers(0, 4))):
        length = draw(st.integers(1, 40))
        values = np.random.default_rng(draw(st.integers(0, 99))).normal(size=length)

        def line(columns: int, values: np.ndarray = values) -> Line:
            x = thinned(values, columns)
            return Line(x, values[x], np.linspace(0.0, 70.5, len(values))[x] if stepped else None)

        found.append(
            Stretch(
                index=2 * index,
                block=draw(BLOCK),
                first=10 * index,
                length=length,
                measured=line(draw(st.integers(1, 30))),
                smoothed=line(draw(st.integers(1, 30))) if draw(st.booleans()) else None,
                mean=float(values.mean()),
                sd=float(values.std()) if length > 1 else None,
                steps=(1.5, 8.0) if stepped else None,
            )
        )
    return tuple(found)


def told(one: Stretch) -> str:
    lines = [(line.x.tolist(), line.y.tolist(), line.steps) for line in (one.measured, one.smoothed) if line]
    return repr((one.index, one.block, one.first, one.length, lines, one.mean, one.sd, one.steps, one.low, one.high))


@given(stretches())
def test_stretches_come_back_to_the_last_digit(drawn: tuple[Stretch, ...]) -> None:
    compact = Stretches(drawn)
    for held in (compact, pickle.loads(pickle.dumps(compact))):
        assert [told(one) for one in held] == [told(one) for one in drawn]
        assert [told(one) for one in held[1:]] == [told(one) for one in drawn[1:]]
        assert len(held) == len(drawn)
