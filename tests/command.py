"""Run `perdure …`: in this process, which saves its start, or in a process of its own."""

from __future__ import annotations

import gc
import io
import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import perdure
from perdure.cli import main

if TYPE_CHECKING:  # conftest sets variables that NumPy reads on import
    from perdure.runner.runner import RunResult

__all__ = ["run_command", "run_learner", "run_process"]


def run_learner(protocol: Any, into: str | os.PathLike[str], **options: Any) -> RunResult:
    """Run the missing lifetimes and experts of one learner, without scoring."""
    return perdure.run(protocol, into, score=False, **options).runs[0]


def run_command(
    *arguments: object, folder: Path | None = None, encoding: str = "utf-8"
) -> subprocess.CompletedProcess[str]:
    """Run the command in this process and in `folder`, from its first line to its exit status."""
    words = list(map(str, arguments))
    stdout, stderr = (io.TextIOWrapper(io.BytesIO(), encoding=encoding) for _ in range(2))
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder or Path.cwd())
        patch.setattr(sys, "argv", ["perdure", *words])
        patch.setattr(
            sys.modules["__main__"], "__package__", ""
        )  # else the program is called "python -m pytest.perdure"
        patch.setattr(sys, "stdout", stdout)
        patch.setattr(sys, "stderr", stderr)
        # A command prepares its process for a short lifetime, but this process runs on.
        patch.setattr(gc, "set_threshold", lambda *_: None)
        patch.setattr(gc, "freeze", lambda: None)
        patch.setenv("PYTHONIOENCODING", encoding)
        patch.setenv("OPENBLAS_NUM_THREADS", os.environ.get("OPENBLAS_NUM_THREADS", "1"))
        with pytest.raises(SystemExit) as ended:
            main()
    stdout.flush()
    stderr.flush()
    printed = [stream.buffer.getvalue().decode(encoding) for stream in (stdout, stderr)]
    return subprocess.CompletedProcess(words, int(ended.value.code or 0), *printed)


def run_process(*arguments: object, folder: Path | None = None) -> subprocess.CompletedProcess[str]:
    """Run the command as a user would, in a process of its own."""
    command = [sys.executable, "-m", "perdure", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, cwd=folder, check=False)
