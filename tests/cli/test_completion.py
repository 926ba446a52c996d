"""What a shell completes: verbs, options, choices, presets and metrics."""

from __future__ import annotations

import pytest
from tests.command import run_command


@pytest.mark.parametrize(
    ("typed", "offered", "not_offered"),
    [
        ("perdure sc", "score", "report"),
        ("perdure score --lower", "--lower-is-better", "--preset"),
        ("perdure score logs --scale ", "run", "hanning"),
        ("perdure compare --preset new", "new-2022", "standard"),
        ("perdure score logs --metrics back", "backward_transfer", "forward_transfer"),
    ],
)
def test_a_shell_is_offered_what_fits_and_nothing_else(
    typed: str, offered: str, not_offered: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = {"_PERDURE_COMPLETE": "complete_bash", "COMP_WORDS": typed, "COMP_CWORD": str(typed.count(" "))}
    for name, value in words.items():
        monkeypatch.setenv(name, value)
    done = run_command()
    assert offered in done.stdout.split(), done.stderr
    assert not_offered not in done.stdout.split()
