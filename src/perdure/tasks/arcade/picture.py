"""Pictures of a game: for learners (grey pixels), for terminals (characters), for people (colours)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from perdure.tasks.arcade.game import Game

_ENLARGED = 16
_SHADES = ((0.9, "o"), (0.7, "="), (0.5, "#"), (-1.0, " "))
_COLOURS = ((0.9, (255, 255, 255)), (0.7, (90, 200, 120)), (0.5, (220, 120, 60)))


def pixels(game: Game, state: Any, params: Mapping[str, Any]) -> np.ndarray:
    """Grey values from 0 to 255, a picture for each game of an array state."""
    return np.round(game.pictures(state, params) * 255).astype(np.uint8)


def as_text(picture: np.ndarray) -> str:
    """One picture in characters: `o` the ball or the walker, `=` the paddle, `#` what stands or drives."""
    grey = picture / 255
    rows = ("".join(next(sign for level, sign in _SHADES if value >= level) for value in row) for row in grey)
    edge = "+" + "-" * picture.shape[1] + "+"
    return "\n".join((edge, *(f"|{row}|" for row in rows), edge))


def as_colours(picture: np.ndarray) -> np.ndarray:
    """One picture enlarged, in red, green and blue."""
    grey = picture / 255
    coloured = np.repeat(picture[:, :, None], 3, axis=2)
    for level, colour in reversed(_COLOURS):
        coloured[grey >= level] = colour
    return coloured.repeat(_ENLARGED, axis=0).repeat(_ENLARGED, axis=1)
