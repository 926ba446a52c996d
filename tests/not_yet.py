"""A mark for tests of faults that are known and not yet mended."""

from __future__ import annotations

import pytest

__all__ = ["not_yet"]


def not_yet(reason: str) -> pytest.MarkDecorator:
    """Mark a test that must fail at one of its own assertions; an error in its set-up is an error all the same."""
    return pytest.mark.xfail(strict=True, raises=(AssertionError, pytest.fail.Exception), reason=reason)
