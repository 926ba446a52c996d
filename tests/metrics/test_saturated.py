"""S000 §3.4.5: only tasks whose performance is saturated are meant; others are flagged, with the value kept."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from tests.metrics.written import written

import perdure
from perdure.metrics.arithmetic import still_rising
from perdure.settings import Settings

RAMP = [float(n) for n in range(100)]
PLATEAU = [100 * (1 - float(np.exp(-n / 12))) for n in range(100)]


@pytest.mark.parametrize("preset", ["standard", "new-2022"])
@pytest.mark.parametrize(("learner", "expert"), [(RAMP, PLATEAU), (PLATEAU, RAMP), (PLATEAU, PLATEAU)])
def test_sample_efficiency_says_who_is_not_saturated(
    tmp_path: Path, preset: str, learner: list[float], expert: list[float]
) -> None:
    life = written(tmp_path, "life", [("train", "a", learner)])
    alone = written(tmp_path, "expert", [("train", "a", expert)], role="expert")
    found = perdure.score(life, [alone], Settings(preset=preset, metrics=["sample_efficiency"])).metrics[
        "sample_efficiency"
    ]
    assert found.value is not None
    assert any(flag.startswith("not saturated") for flag in found.flags) == (learner is RAMP)
    assert any(flag.startswith("an expert is not saturated") for flag in found.flags) == (expert is RAMP)


def test_half_the_average_pace_at_the_end_is_where_saturation_begins() -> None:
    assert still_rising(0, 8.4, 9)  # from the first tenth to the last 9, so 1 a tenth; at last 0.6
    assert not still_rising(0, 8.6, 9)
    assert not still_rising(9, 5, 9), "what does not rise does not rise at its end"
