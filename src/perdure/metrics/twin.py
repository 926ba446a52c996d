"""What is remembering worth, and what does it cost? The life beside its stateless twin."""

from __future__ import annotations

from perdure.curves.experts import seconds_learning
from perdure.curves.model import Curve, Curves, Twin
from perdure.metrics.engine.arithmetic import flat, ratio
from perdure.metrics.engine.declare import metric
from perdure.metrics.engine.metric import NoValue
from perdure.scenario import sites
from perdure.scenario.sites import Site


@metric(sites.evaluations_of_learned, combine=flat, unit="points", source="Perdure")
def twin_gain(evaluation: Curve, at: Site, twin: Twin) -> float:
    r"""How much better learned tasks are done than by a stateless twin, which starts anew in every block.

    $$\operatorname{mean}_b \left( \bar{L}_b - \bar{W}_b \right)$$

    W is the twin's evaluation of the same block.

    Weakness: the twin is untrained in every evaluation, so that any learning at all counts as gain.
    """
    return evaluation.mean - twin.means[at.blocks["evaluation"][0]]


@metric(sites.timed_learning, unit="ratio", better="lower", source="Perdure")
def twin_cost(life: Curves, twin: Twin) -> float:
    r"""How long a learning experience takes, relative to a stateless twin's.

    $$\frac{\text{seconds per learning experience}}{\text{seconds per learning experience of the twin}}$$

    Weakness: it goes by the clock, and by what else the machine did meanwhile.
    """
    seconds, intervals = seconds_learning(life.passage)
    if seconds is None or twin.seconds is None:
        raise NoValue("needs timestamps in every learning block, of the twin too")
    if not intervals or not twin.intervals:
        raise NoValue("needs learning blocks of two or more experiences, of the twin too")
    return ratio(seconds / intervals, twin.seconds / twin.intervals, 0.0)
