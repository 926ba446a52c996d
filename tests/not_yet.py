"""A mark for tests of known faults that are not fixed yet."""

from __future__ import annotations

import pytest

__all__ = ["not_yet"]


def not_yet(reason: str) -> pytest.MarkDecorator:
    """Mark a test that must fail at an assertion. An error in its set-up is still an error."""
    return pytest.mark.xfail(strict=True, raises=(AssertionError, pytest.fail.Exception), reason=reason)
