"""SB3Learner: any algorithm of Stable-Baselines3 through a life, one model for all its tasks (extra `sb3`)."""

from __future__ import annotations

import hashlib
import json
import random
from collections.abc import Mapping
from importlib import import_module
from operator import attrgetter
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from perdure import files
from perdure.errors import LearnerError, MissingExtraError, nearest

_GRID = (11, 6, 4)
"""How many objects, colours and states a cell of a MiniGrid picture tells apart."""

_ENDLESS = 10**9  # steps; the block's end stops the learning
_OFF_POLICY = {"buffer_size": 10_000, "learning_starts": 100}
_DEFAULTS: Mapping[str, Mapping[str, Any]] = {
    "PPO": {"n_steps": 128, "batch_size": 64, "learning_rate": 1e-3, "ent_coef": 0.01},
    # An exploration schedule needs the length of the lifetime, which is unknown here.
    "DQN": {**_OFF_POLICY, "exploration_initial_eps": 0.1, "exploration_final_eps": 0.1},
    "SAC": _OFF_POLICY,
    "TD3": _OFF_POLICY,
    "DDPG": _OFF_POLICY,
}
_COUNTS = ("num_timesteps", "_n_updates", "_n_calls", "_episode_num", "exploration_rate", "_current_progress_remaining")
_BUFFER = ("observations", "next_observations", "actions", "rewards", "dones", "timeouts")
_ALONE = "alone"
_ARRAYS, _NUMBERS = "arrays.npz", "numbers.json"


class SB3Learner:
    """An algorithm with its own loop: it learns in learning blocks and acts greedily in the others.

    Observations become flat vectors, a MiniGrid picture cell by cell as ones and zeros. All tasks must
    have the same spaces. Further parameters are those of the algorithm. What is saved holds all that decides what
    comes next: weights, optimisers, replay buffer, counts, and the random numbers that Stable-Baselines3 shares with
    the process.
    """

    def __init__(self, algorithm: str = "PPO", seed: int = 0, **params: Any) -> None:
        self.algorithm = algorithm
        self.seed = seed
        self.params = {**_DEFAULTS.get(algorithm, {}), **params}
        self.model: Any = None
        self._saved: dict[str, Any] | None = None
        """The restored state, until the first block provides the spaces to make a model."""
        self._reseeded: int | None = None

    def live(self, life: Any) -> None:
        """Go through every block."""
        for block in life:
            env = _flat_env(block.env())
            model = self._model(env, block.where)
            life.freeze()  # only now: the model may have just been made
            if block.learning:
                _learn(model, env)
            else:
                _play(model, env)

    def log_info(self) -> dict[str, int]:
        """Return the number of parameters and of updates, as the algorithm counts them, and the size of its replay."""
        buffer = getattr(self.model, "replay_buffer", None)
        filled = 0 if buffer is None else buffer.buffer_size if buffer.full else buffer.pos
        return {
            "parameters": sum(weights.numel() for weights in self.model.policy.parameters()),
            "updates": int(getattr(self.model, "_n_updates", 0)),
            "stored_bytes": sum(getattr(buffer, name)[:filled].nbytes for name in _BUFFER) if filled else 0,
        }

    def fingerprint(self) -> str:
        """Return a digest of all weights."""
        digest = hashlib.sha256()
        weights = self._saved["weights"]["policy"] if self._saved else None
        for name, weight in (weights or (self.model.policy.state_dict() if self.model is not None else {})).items():
            digest.update(name.encode() + weight.detach().cpu().numpy().tobytes())
        return digest.hexdigest()

    def save(self, folder: Path) -> None:
        """Write weights, arrays and numbers."""
        state = self._saved or (_state(self.model) if self.model is not None else None)
        if state is not None:
            arrays = dict(state["arrays"])
            weights = _flatten_state(state["weights"], arrays)
            np.savez(folder / _ARRAYS, allow_pickle=False, **arrays)
            files.write(folder / _NUMBERS, json.dumps({**state["numbers"], "weights": weights}).encode())

    def restore(self, folder: Path) -> None:
        """Restore a saved state, without pickle."""
        if not (folder / _NUMBERS).exists():
            return
        with files.open_regular(folder / _ARRAYS) as file, np.load(file, allow_pickle=False) as saved:
            arrays = {name: saved[name] for name in saved.files}
        numbers = json.loads(files.read_text(folder / _NUMBERS, files.HEADER_LIMIT))
        self.model = None
        self._saved = {
            "weights": _restore_state(numbers.pop("weights"), arrays),
            "arrays": arrays,
            "numbers": numbers,
        }

    def reseed(self, seed: int) -> None:
        """Seed the random generators again, without changing the weights."""
        self._reseeded = seed % 2**31
        if self.model is not None:
            self.model.set_random_seed(self._reseeded)

    def _model(self, env: Any, where: str) -> Any:
        if self.model is None:
            self.model = self._made(env, where)
            if self._saved is not None:
                _take_up(self.model, self._saved)
                self._saved = None
            if self._reseeded is not None:
                self.model.set_random_seed(self._reseeded)
        own_spaces = self.model.observation_space.shape, self.model.action_space
        if own_spaces != (env.observation_space.shape, env.action_space):
            raise LearnerError(
                f"{self.algorithm} was made for {own_spaces[0]} and {own_spaces[1]}, and this task has "
                f"{env.observation_space.shape} and {env.action_space}",
                "give a lifetime tasks with one pair of spaces, as one model needs",
                where=where,
            )
        return self.model

    def _made(self, env: Any, where: str) -> Any:
        make = algorithm_called(self.algorithm)
        # One life is one worker; two threads each would be slower than one.
        import_module("torch").set_num_threads(1)
        try:
            return make("MlpPolicy", env, seed=self.seed % 2**31, device="cpu", **self.params)
        except (AssertionError, TypeError) as problem:
            raise LearnerError(
                f"{self.algorithm} cannot be made for {env.action_space}: {problem}",
                "choose an algorithm for these actions, and parameters that it takes",
                where=where,
            ) from problem


class PPOLearner(SB3Learner):
    """PPO (Schulman et al. 2017) of Stable-Baselines3, with its own loop; parameters are those of PPO."""

    def __init__(self, seed: int = 0, **params: Any) -> None:
        super().__init__("PPO", seed, **params)


def algorithm_called(name: str) -> Any:
    """Return the algorithm's class. For an unknown name, raise an error with the nearest one."""
    try:
        library: Any = import_module("stable_baselines3")
    except ModuleNotFoundError as problem:
        raise MissingExtraError(
            str(problem.name), "sb3", f"the learner {'ppo' if name == 'PPO' else f'sb3:{name}'!r}"
        ) from None
    base = import_module("stable_baselines3.common.base_class").BaseAlgorithm
    known = {key: value for key, value in vars(library).items() if isinstance(value, type) and issubclass(value, base)}
    if name not in known:
        raise LearnerError(f"Stable-Baselines3 has no algorithm {name!r}", nearest(name, known))
    return known[name]


def _state(model: Any) -> dict[str, Any]:
    """Return the whole state of the learner as tensors, arrays and numbers."""
    torch = import_module("torch")
    arrays = {"torch": torch.get_rng_state().numpy()}
    kind, key, *rest = np.random.get_state()  # noqa: NPY002 - Stable-Baselines3 draws from it
    arrays["numpy"] = np.asarray(key)
    numbers: dict[str, Any] = {
        "counts": {name: getattr(model, name) for name in _COUNTS if hasattr(model, name)},
        "numpy": [kind, *rest],
        "random": random.getstate(),
        "actions": model.action_space.np_random.bit_generator.state,
    }
    buffer = getattr(model, "replay_buffer", None)
    if buffer is not None:
        numbers["buffer"] = [int(buffer.pos), bool(buffer.full)]
        filled = buffer.buffer_size if buffer.full else buffer.pos
        arrays |= {f"buffer:{name}": getattr(buffer, name)[:filled] for name in _BUFFER}
    return {"weights": {**model.get_parameters(), _ALONE: _alone(model)}, "arrays": arrays, "numbers": numbers}


def _flatten_state(tree: Any, arrays: dict[str, Any]) -> Any:
    """Nested state as JSON can hold it, its tensors among `arrays`; keys may be numbers."""
    if isinstance(tree, Mapping):
        return {"pairs": [[key, _flatten_state(branch, arrays)] for key, branch in tree.items()]}
    if hasattr(tree, "detach"):
        name = f"tensor-{len(arrays)}"
        arrays[name] = tree.detach().cpu().numpy()
        return {"tensor": name}
    return [_flatten_state(branch, arrays) for branch in tree] if isinstance(tree, list | tuple) else tree


def _restore_state(tree: Any, arrays: Mapping[str, Any]) -> Any:
    """Back from `_flatten_state`."""
    if isinstance(tree, dict) and "tensor" in tree:
        return import_module("torch").from_numpy(np.array(arrays[tree["tensor"]]))
    if isinstance(tree, dict):
        return {key: _restore_state(branch, arrays) for key, branch in tree["pairs"]}
    return [_restore_state(branch, arrays) for branch in tree] if isinstance(tree, list) else tree


def _alone(model: Any) -> dict[str, Any]:
    """Tensors outside any network that are learned too, such as the entropy coefficient of SAC."""
    return {name: attrgetter(name)(model).detach().clone() for name in model._get_torch_save_params()[1]}


def _take_up(model: Any, state: Mapping[str, Any]) -> None:
    """Restore the result of `_state`."""
    numbers, arrays = state["numbers"], state["arrays"]
    weights = dict(state["weights"])
    for name, value in weights.pop(_ALONE).items():
        attrgetter(name)(model).data.copy_(value)
    model.set_parameters(weights, exact_match=True, device="cpu")
    for name, value in numbers["counts"].items():
        setattr(model, name, value)
    if "buffer" in numbers:
        model.replay_buffer.pos, model.replay_buffer.full = numbers["buffer"]
        for name in _BUFFER:
            stored = arrays[f"buffer:{name}"]
            getattr(model.replay_buffer, name)[: len(stored)] = stored
    import_module("torch").set_rng_state(import_module("torch").from_numpy(np.array(arrays["torch"])))
    kind, *rest = numbers["numpy"]
    np.random.set_state((kind, arrays["numpy"], *rest))  # noqa: NPY002
    version, inner, gauss = numbers["random"]
    random.setstate((version, tuple(inner), gauss))
    model.action_space.np_random.bit_generator.state = numbers["actions"]


def flattened(observation: Any, space: Any) -> npt.NDArray[np.float32]:
    """Return an observation as one vector, without text such as MiniGrid's mission."""
    from gymnasium import spaces

    if isinstance(space, spaces.Dict):
        parts = [flattened(observation[key], space) for key, space in space.spaces.items() if not _is_text(space)]
        return np.concatenate(parts)
    if isinstance(space, spaces.Discrete):
        chosen = int(observation) - int(space.start)
        return np.asarray(np.arange(int(space.n)) == chosen, dtype=np.float32)
    if _is_grid(space):
        cells = [observation[..., part, None] == np.arange(size) for part, size in enumerate(_GRID)]
        return np.asarray(np.concatenate([cell.reshape(-1) for cell in cells]), dtype=np.float32)
    return np.asarray(observation, dtype=np.float32).reshape(-1)


def flat_size(space: Any) -> int:
    """Return the length of the vectors of a space."""
    from gymnasium import spaces

    if isinstance(space, spaces.Dict):
        return sum(flat_size(space) for space in space.spaces.values() if not _is_text(space))
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
    """Run the algorithm through the block. An unfinished rollout at its end is not learned from."""
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
