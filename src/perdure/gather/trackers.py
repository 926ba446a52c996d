"""Send lifetimes and their scores to a tracker, one run per lifetime."""

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


class TrackerExport(Struct, frozen=True):
    """The lifetimes that a tracker received, and those left out."""

    runs: Mapping[str, int]
    """Name of the run → its records."""
    left_out: tuple[tuple[str, str], ...] = ()
    """Path and reason."""


@contextlib.contextmanager
def _reported_errors(target: str) -> Iterator[None]:
    """Raise a PerdureError for an exception of the tracker's library, because later lifetimes would meet it too."""
    try:
        yield
    except PerdureError:
        raise
    except Exception as problem:
        text = " ".join(str(problem).split())
        raise PerdureError(
            f"{target} refused a run ({type(problem).__name__}: {text})", "see that it is there"
        ) from problem


def send(log: str | Path, target: str, settings: Settings | None = None) -> TrackerExport:
    """Send each lifetime at or below `log`, with its metrics, as one run to `target`, such as `tensorboard:runs`."""
    settings = Settings.given_or_default(settings)
    scored = survey(log, settings=settings)
    values = {score.id: {name: value for name, value in score.values.items() if value is not None} for score in scored}
    logs = find_lifetimes([log], options=settings.reading()).lifetimes
    runs: dict[str, int] = {}
    left_out = list(scored.left_out)
    for found in {found.path: found for found in logs}.values():
        try:
            for lifetime in lifetimes(found.path, settings.reading()):
                is_one_of_several = lifetime.inside or len(logs) > 1
                if (lifetime.role != "life" and is_one_of_several) or lifetime.inside in found.surplus:
                    continue  # an expert is sent only if it is the one log given
                name = f"{found.identity.id}#{lifetime.inside}" if lifetime.inside else found.identity.id
                scalars = scalars_of(lifetime)
                facts = {"method": lifetime.learner, "seed": lifetime.seed}
                with _reported_errors(target):
                    tracker = open_tracker(target, re.sub(r"[^\w.\-]+", "-", name), facts)
                    tracker.put(scalars)
                    tracker.close(values.get(name, {}), lifetime.experiences.height)
                runs[name] = len(scalars.steps)
        except LogError as problem:
            left_out.append((str(found.path), str(problem)))
    if not runs:
        why = f"no lifetime here can be read ({left_out[0][1]})" if left_out else "no lifetime here"
        raise NotALogError(why, "give a log, or a folder of logs", file=log)
    return TrackerExport(runs, tuple(dict.fromkeys(left_out)))
