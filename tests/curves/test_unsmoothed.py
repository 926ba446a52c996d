"""Values that are not smoothed are the same, asked for block by block or all at once, of one life or of many."""

from __future__ import annotations

import numpy as np
import pytest

from perdure.curves.build import alike
from perdure.curves.lives import Asked
from perdure.curves.model import Prep
from perdure.metrics.engine.contract import lifetime_of
from perdure.scenario.model import Block

BLOCKS = [
    Block("learn", "a", 300),
    Block("evaluate", "a", 300),
    Block("learn", "b", 20),
    Block("evaluate", "b", 20),
    Block("learn", "b", 400),
]


@pytest.mark.parametrize(
    "prep",
    [
        Prep(variants="name"),
        Prep(variants="name", clamp=True),
        Prep(variants="name", scale="none"),
        Prep(variants="name", noise=0.5),
        Prep(variants="name", smooth_evaluation=True, clamp=True, noise=0.5),
    ],
)
def test_a_block_by_itself_is_the_block_of_the_whole_and_of_the_life_alone(prep: Prep) -> None:
    rng = np.random.default_rng(1)
    lives = [lifetime_of(BLOCKS, rng, name=str(number)) for number in range(3)]
    asked = Asked("reward", "higher", prep)
    (together,) = alike(lives, asked, ())
    for life, among in zip(lives, together, strict=True):
        ((alone,),) = alike([life], asked, ())
        for index in range(len(BLOCKS)):
            span = slice(*among.starts[index : index + 2])
            block = among.over((index,)).raw
            assert block.tolist() == among.raw[span].tolist() == alone.over((index,)).raw.tolist()
            with pytest.raises(ValueError, match="read-only"):
                block[0] = 1.0
        assert among.over((0, 4)).raw.tolist() == alone.over((0, 4)).raw.tolist()
