"""A callback for existing Stable-Baselines3 scripts, which logs each episode of `learn` to a journal."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from stable_baselines3.common.callbacks import BaseCallback

from perdure.log.write.journal import Journal
from perdure.tasks.logged import log_episode


class SB3Callback(BaseCallback):
    """Logs every episode that ends while `model.learn(…, callback=SB3Callback(journal, task))` runs.

    It reads the reports of `Monitor` or `VecMonitor`, so each environment of a vector counts; Stable-Baselines3 wraps a
    single environment in a Monitor automatically. Evaluate in an environment under `perdure.LogEpisodes`.
    """

    def __init__(self, journal: Journal, task: str, params: Mapping[str, Any] | None = None) -> None:
        super().__init__()
        self._journal, self._task, self._params = journal, task, params

    def _on_step(self) -> bool:
        for info in self.locals["infos"]:
            if "episode" in info:
                ended = info["episode"]
                log_episode(self._journal, self._task, "learn", ended["r"], ended["l"], self._params)
        return True
