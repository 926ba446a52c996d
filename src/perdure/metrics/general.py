"""What became of abilities that were there before, and that nobody trained again?"""

from __future__ import annotations

from perdure.metrics.engine.arithmetic import flat
from perdure.metrics.engine.declare import metric
from perdure.metrics.matrix.cells import Change
from perdure.scenario import sites


@metric(sites.general_abilities, unit="measure", combine=flat, source="Perdure")
def general_ability_change(at: Change) -> float:
    r"""How much tasks that are never learned change over the whole life: what a model could do before.

    $$\frac{1}{|G|} \sum_{g \in G} (A_{g,T} - A_{g,0})$$

    Weakness: it averages what is evaluated: abilities that no benchmark asks for are not in it.
    """
    return at.last - at.first
