"""What the verbs on logs take: lifetimes that were surveyed, or whatever can be."""

from __future__ import annotations

from collections.abc import Sequence

from perdure.gather.model import Survey
from perdure.gather.survey import Frame, Source, survey
from perdure.settings import Settings

Logs = Survey | Source | Sequence[Source] | Frame
"""Lifetimes, surveyed already or not."""


def surveyed(logs: Logs, experts: Source | Sequence[Source] | Frame, settings: Settings) -> Survey:
    """The lifetimes; metrics asked for by name restrict what is shown, not what is tested beside it."""
    if isinstance(logs, Survey):
        return logs
    return survey(logs, experts, settings.replace(metrics=settings.files))
