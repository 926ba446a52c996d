"""The old tools in their own environment, and their source distributions, which are fetched to run and never stored."""

from __future__ import annotations

import os
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

__all__ = ["OLD", "fetch_source", "needs_old_tools"]

_MADE = Path(__file__).parents[2] / ".venv-old-tools"
_GIVEN = os.environ.get("PERDURE_OLD_TOOLS")
OLD = Path(_GIVEN) if _GIVEN else _MADE / "bin" / "python"
"""The Python that the old tools are installed for: that of `make test-old-tools`, or another that is named."""
needs_old_tools = pytest.mark.skipif(
    not (_GIVEN or (_MADE / "installed").exists()),
    reason="l2metrics and tella are not here; make test-old-tools installs them where they can be had",
)


def fetch_source(package: str, version: str, into: Path) -> Path:
    """Return the unpacked source distribution; skip the test with the reason if it is not available."""
    clean = {name: value for name, value in os.environ.items() if name not in ("PIP_CONSTRAINT", "PYTHONPATH")}
    fetch = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--no-binary", package]
    done = subprocess.run(
        [*fetch, f"{package}=={version}"], cwd=into, env=clean, capture_output=True, text=True, check=False
    )
    archives = list(into.glob(f"{package}-*.tar.gz"))
    if done.returncode or not archives:
        pytest.skip(f"the source of {package} {version} cannot be had here: {done.stderr.strip()[-200:]}")
    with tarfile.open(archives[0]) as archive:
        archive.extractall(into, filter="data")
    return into / f"{package}-{version}"
