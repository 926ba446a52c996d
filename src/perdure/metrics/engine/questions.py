"""The questions a reader comes with; a metric's declaration says which of them it answers."""

from __future__ import annotations

from typing import Literal

__all__ = ["QUESTIONS", "Question"]

Question = Literal["", "keeps", "helps", "beside", "recovers", "does"]
"""Empty for a metric that answers none of them by itself, and is shown when all are asked for."""

QUESTIONS: dict[Question, str] = {
    "keeps": "Does it keep what it learns?",
    "helps": "Does learning one task help another?",
    "beside": "Beside single-task experts",
    "recovers": "How fast does it recover?",
    "does": "How well does it do?",
}
"""In the order in which answers are shown."""
