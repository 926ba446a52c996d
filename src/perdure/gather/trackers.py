"""Lifetimes and what they scored, sent to a tracker, one run for each."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from msgspec import Struct

from perdure.errors import LogError, NotALogError, PerdureError
from perdure.gather.find import find_lifetimes
from perdure.gather.survey import survey
from perdure.log.read import lifetimes
from perdure.log.write.export import open_tracker, scalars_of
from perdure.settings import Settings


class Sent(Struct, frozen=True):
    """What reached a tracker, and what did not."""

    runs: Mapping[str, int]
    """Name of the run → its records."""
    left_out: tuple[tuple[str, str], ...] = ()
    """Path and reason."""


@contextlib.contextmanager
def _in_words(target: str) -> Iterator[None]:
    """Whatever a tracker's library raises, as an error of ours: it would meet every further lifetime as well."""
    try:
        yield
    except PerdureError:
        raise
    except Exception as problem:
        said = " ".join(str(problem).split())
        raise PerdureError(
            f"{target} refused a run ({type(problem).__name__}: {said})", "see that it is there"
        ) from problem


def send(log: str | Path, target: str, settings: Settings | None = None) -> Sent:
    """Every lifetime at or below `log` as a run of its own at `target`, as `tensorboard:runs`, with its metrics."""
    settings = Settings.given_or_default(settings)
    scored = survey(log, settings=settings)
    values = {one.id: {name: value for name, value in one.values.items() if value is not None} for one in scored}
    found = find_lifetimes([log], options=settings.reading()).lifetimes
    runs: dict[str, int] = {}
    left_out = list(scored.left_out)
    for place in {one.path: one for one in found}.values():
        try:
            for life in lifetimes(place.path, settings.reading()):
                if (life.role != "life" and (life.inside or len(found) > 1)) or life.inside in place.surplus:
                    continue  # what lives are held against is none, unless it alone was given
                name = f"{place.identity.id}#{life.inside}" if life.inside else place.identity.id
                scalars = scalars_of(life)
                facts = {"method": life.learner, "seed": life.seed}
                with _in_words(target):
                    tracker = open_tracker(target, re.sub(r"[^\w.\-]+", "-", name), facts)
                    tracker.put(scalars)
                    tracker.close(values.get(name, {}), life.experiences.height)
                runs[name] = len(scalars.steps)
        except LogError as problem:
            left_out.append((str(place.path), str(problem)))
    if not runs:
        why = f"no lifetime here can be read ({left_out[0][1]})" if left_out else "no lifetime here"
        raise NotALogError(why, "give a log, or a folder of logs", file=log)
    return Sent(runs, tuple(dict.fromkeys(left_out)))
