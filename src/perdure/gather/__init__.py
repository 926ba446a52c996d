"""Lifetimes found, identified, given their experts, read, verified and scored: once, for every verb alike."""

from perdure.gather.model import Life, Survey
from perdure.gather.survey import survey

__all__ = ["Life", "Survey", "survey"]
