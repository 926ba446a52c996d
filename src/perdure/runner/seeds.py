"""Seeds by key: the same key gives the same seed, whatever was drawn before."""

from __future__ import annotations

import hashlib

from msgspec import Struct

Key = str | int


def seed_for(root: int, *key: Key) -> int:
    """Return a seed of 63 bits for `key` under `root`; different keys give independent seeds.

    Keys are hashed into the entropy of a NumPy SeedSequence, so that `("life", 7)` does not depend on the number of
    lifetimes.
    """
    import numpy as np

    text = "\x1f".join(f"{type(part).__name__}:{part}" for part in key)
    words = np.frombuffer(hashlib.sha256(text.encode()).digest(), dtype=np.uint32)
    entropy = [*(int(word) for word in words), *_words(root)]
    return int(np.random.SeedSequence(entropy).generate_state(1, np.uint64)[0] >> np.uint64(1))


class Seeds(Struct, frozen=True):
    """The three seeds of a lifetime: for the learner, the scenario, and the environments."""

    learner: int
    scenario: int
    environment: int

    @classmethod
    def of(cls, seed: int) -> Seeds:
        """Return three seeds derived from one."""
        return cls(seed_for(seed, "learner"), seed_for(seed, "scenario"), seed_for(seed, "environment"))

    def under(self, *key: Key) -> Seeds:
        """Return the seeds for `key`, with these as roots."""
        return Seeds(seed_for(self.learner, *key), seed_for(self.scenario, *key), seed_for(self.environment, *key))


def _words(number: int) -> list[int]:
    """Return a number of any size and sign as words of 32 bits."""
    negative, number = number < 0, abs(number)
    words = [number & 0xFFFFFFFF]
    while number := number >> 32:
        words.append(number & 0xFFFFFFFF)
    return [*words, 1] if negative else words
