"""PPOLearner: Stable-Baselines3's PPO through a life, one model for all its tasks (extra `sb3`)."""

from __future__ import annotations

import hashlib
from importlib import import_module
from typing import Any

import numpy as np
import numpy.typing as npt

from perdure.errors import MissingExtra
from perdure.learners.interface import LearnerError

__all__ = ["PPOLearner", "flat_size", "flattened"]

_GRID = (11, 6, 4)
"""How many objects, colours and states a cell of a MiniGrid picture tells apart."""

_ENDLESS = 10**9  # steps; the block's end stops the learning


class PPOLearner:
    """PPO (Schulman et al. 2017) with its own loop: it learns in learning blocks and acts greedily in the others.

    Observations become flat vectors, a MiniGrid picture cell by cell as ones and zeros. All tasks must
    have the same spaces. Further parameters are those of `stable_baselines3.PPO`.
    """

    def __init__(self, seed: int = 0, **params: Any) -> None:
        self.seed = seed
        self.params = {"n_steps": 128, "batch_size": 64, "learning_rate": 1e-3, "ent_coef": 0.01, **params}
        self.model: Any = None

    def live(self, life: Any) -> None:
        """Go through every block."""
        for block in life:
            env = _flat_env(block.env())
            model = self._model(env, block.where)
            life.freeze()  # a model that was made just now is what is evaluated
            if block.learning:
                _learn(model, env)
            else:
                _play(model, env)

    def fingerprint(self) -> str:
        """A digest of all weights."""
        digest = hashlib.sha256()
        if self.model is not None:
            for name, weights in self.model.policy.state_dict().items():
                digest.update(name.encode() + weights.detach().cpu().numpy().tobytes())
        return digest.hexdigest()

    def _model(self, env: Any, where: str) -> Any:
        if self.model is None:
            try:
                stable_baselines3: Any = import_module("stable_baselines3")
            except ModuleNotFoundError as problem:
                raise MissingExtra(str(problem.name), "sb3", "the learner 'ppo'") from None
            # One life is one worker; two threads each would be slower than one.
            import_module("torch").set_num_threads(1)
            self.model = stable_baselines3.PPO("MlpPolicy", env, seed=self.seed % 2**31, device="cpu", **self.params)
        mine = self.model.observation_space.shape, self.model.action_space
        if mine != (env.observation_space.shape, env.action_space):
            raise LearnerError(
                f"PPO was made for {mine[0]} and {mine[1]}, and this task has {env.observation_space.shape} and "
                f"{env.action_space}",
                "one model needs one pair of spaces",
                file=where,
            )
        return self.model


def flattened(observation: Any, space: Any) -> npt.NDArray[np.float32]:
    """An observation as one vector; text, such as MiniGrid's mission, is left out."""
    from gymnasium import spaces

    if isinstance(space, spaces.Dict):
        parts = [flattened(observation[key], one) for key, one in space.spaces.items() if not _is_text(one)]
        return np.concatenate(parts)
    if isinstance(space, spaces.Discrete):
        chosen = int(observation) - int(space.start)
        return np.asarray(np.arange(int(space.n)) == chosen, dtype=np.float32)
    if _is_grid(space):
        cells = [observation[..., part, None] == np.arange(size) for part, size in enumerate(_GRID)]
        return np.asarray(np.concatenate([cell.reshape(-1) for cell in cells]), dtype=np.float32)
    return np.asarray(observation, dtype=np.float32).reshape(-1)


def flat_size(space: Any) -> int:
    """How long the vectors of a space are."""
    from gymnasium import spaces

    if isinstance(space, spaces.Dict):
        return sum(flat_size(one) for one in space.spaces.values() if not _is_text(one))
    if isinstance(space, spaces.Discrete):
        return int(space.n)
    if _is_grid(space):
        return int(space.shape[0] * space.shape[1] * sum(_GRID))
    return int(np.prod(space.shape))


def _flat_env(env: Any) -> Any:
    import gymnasium

    size = flat_size(env.observation_space)
    flat = gymnasium.spaces.Box(-np.inf, np.inf, (size,), np.float32)
    space = env.observation_space
    return gymnasium.wrappers.TransformObservation(env, lambda observation: flattened(observation, space), flat)


def _learn(model: Any, env: Any) -> None:
    """Let PPO step through the block; what is left of a rollout at its end is not learned from."""
    vectors: Any = import_module("stable_baselines3.common.vec_env")
    model.set_env(vectors.DummyVecEnv([lambda: env]))
    model.learn(_ENDLESS, callback=lambda *_: not env.unwrapped.exhausted, reset_num_timesteps=False)


def _play(model: Any, env: Any) -> None:
    observation, _ = env.reset()
    while not env.unwrapped.exhausted:
        action, _ = model.predict(observation, deterministic=True)
        observation, _, terminated, truncated, _ = env.step(action)
        if terminated or truncated:
            observation, _ = env.reset()


def _is_text(space: Any) -> bool:
    from gymnasium import spaces

    return isinstance(space, spaces.Text) or type(space).__name__ == "MissionSpace"


def _is_grid(space: Any) -> bool:
    return len(space.shape) == 3 and space.shape[-1] == len(_GRID) and space.dtype == np.uint8 and space.shape[0] <= 25
