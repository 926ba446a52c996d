"""l2logger's logger: `from perdure.classic.l2logger import DataLogger` replaces the import from `l2logger.l2logger`."""

from __future__ import annotations

import os
import time
from pathlib import PurePath
from typing import Any

from perdure.errors import RecordError
from perdure.log.manifest import rewrite
from perdure.log.places import LOGGER_INFO, SCENARIO_INFO
from perdure.log.write.journal import Journal


class _Lenient(Journal):
    # In l2logger, blocks of training and testing may share a number, and its scripts must keep working.
    _one_type_per_block = False


class DataLogger:
    """l2logger 1.8's logger, with its constructor, properties and methods, on Perdure's journal.

    The folder, the columns and the errors (RuntimeError) are l2logger's. In addition there is a manifest, and no
    finished record is lost if the disk is full or the power fails.
    """

    def __init__(
        self,
        logging_base_dir: str | os.PathLike[str],
        scenario_name: str,
        logger_info: dict[str, Any],
        scenario_info: dict[str, Any] | None = None,
    ) -> None:
        if type(logger_info) is not dict or "metrics_columns" not in logger_info:
            raise RecordError("logger_info has no 'metrics_columns'", "expected a list of column names")
        measures = logger_info["metrics_columns"]
        if type(measures) is not list or any(type(name) is not str for name in measures) or not measures:
            raise RecordError(f"logger_info['metrics_columns'] is {measures!r}", "expected a list of column names")
        self._base = logging_base_dir
        self._logger_info = logger_info
        self._logger_info["log_format_version"] = "1.1"
        self._scenario_info = scenario_info or {}
        self._scenario = PurePath(scenario_name).name.split(".")[0]
        self._name = f"{self._scenario}-{time.time()}".replace(".", "-")
        self._journal = self._open(join=False)

    @property
    def logging_base_dir(self) -> str | os.PathLike[str]:
        """The folder given to the constructor."""
        return self._base

    @property
    def scenario_dir(self) -> str:
        """The folder of this lifetime."""
        return str(self._journal.path)

    @property
    def logger_info(self) -> dict[str, Any]:
        """The content of logger_info.json."""
        return self._logger_info

    @property
    def scenario_info(self) -> dict[str, Any]:
        """The content of scenario_info.json."""
        return self._scenario_info

    def log_record(self, record_in: dict[str, Any]) -> None:
        """Write one record. Once this returns, the record survives the end of this process."""
        if type(record_in) is not dict:
            raise RecordError(f"record is {record_in!r}", "give a dict")
        if "timestamp" in record_in:
            raise RecordError("a record may not bring its own timestamp", "leave it to the logger")
        missing = [name for name in ("block_num", "exp_num", "block_type", "task_name") if name not in record_in]
        missing += ["task_params"] if not isinstance(record_in.get("task_params"), dict) else []
        if missing:
            raise RecordError(
                f"the record lacks {', '.join(missing)} (found: {', '.join(map(str, record_in))})",
                "add what is missing",
            )
        if self._closed:  # in l2logger, a closed log can be continued
            self._journal = self._open(join=True)
        self._journal.log(**record_in)

    def write_info_files(self) -> None:
        """Write logger_info.json and scenario_info.json again, after they were changed in place."""
        rewrite(self._journal.path, {LOGGER_INFO: self._logger_info, SCENARIO_INFO: self._scenario_info})

    def close(self) -> None:
        """End the log, and mark it as complete."""
        self._journal.close()
        self._closed = True

    def __del__(self) -> None:
        # Scripts for l2logger may leave closing to the interpreter.
        if hasattr(self, "_journal"):
            self.close()

    def _open(self, join: bool) -> Journal:
        measures = list(dict.fromkeys(self._logger_info["metrics_columns"]))  # in l2logger, a name may occur twice
        journal = _Lenient(
            self._base, self._name, measures, scenario=self._scenario, info=self._scenario_info, join=join
        )
        self._closed = False
        return journal
