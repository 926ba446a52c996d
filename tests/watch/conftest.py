"""Runs to watch are those that reports are made of."""

from tests.report.conftest import browser, run_folder, told, two_runs

__all__ = ["browser", "run_folder", "told", "two_runs"]
