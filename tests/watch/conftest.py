"""Runs to watch are those that reports are made of."""

from tests.report.conftest import run_folder, told, two_runs

__all__ = ["run_folder", "told", "two_runs"]
