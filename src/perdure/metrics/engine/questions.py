"""What a reader is told of a metric: the question that it answers, and the words for its verdict."""

from __future__ import annotations

from typing import Literal

from perdure.frozen import frozen

__all__ = ["QUESTIONS", "Question", "Words"]

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


@frozen
class Words:
    """A metric in its own words: those for its verdict, and the sentence they stand in; its column among others."""

    better: str = "above"
    worse: str = "below"
    who: str = ""
    does: str = ""
    """What follows it, with `{}` for the word; metrics that share beginning and end share a sentence."""
    than: str = ""
    of_change: bool = False
    """Whether it is a change of what was learned, of which the threshold, too, tells: gains, keeps, loses, forgets."""
    asks: str = ""
    """Over its column, where learners stand beside each other; without it there is none."""
    about: str = ""
    """Below that: what its values are."""
    spelled: str = ""
    """What its name is short for."""
    pairs: str = ""
    """Of a metric of ordered pairs of tasks: what each of them shows; without it there is no matrix of them."""

    def sentence(self, word: str) -> str:
        """What the word means; nothing where that was not said."""
        return " ".join(part for part in (self.who, self.does.format(word), self.than) if part) if self.does else ""
