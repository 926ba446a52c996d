"""The parametric arcade: Pong, Breakout and Freeway, small, fast, and changeable in every part.

One text of each game's rules is played two ways: by plain numbers (`env.py`, one game) and by arrays
(`vector.py`, hundreds at once). `arithmetic.py` has the few operations in which the two differ.
"""

from perdure.tasks.arcade.kinds import GAMES, make_game, make_games

__all__ = ["GAMES", "make_game", "make_games"]
