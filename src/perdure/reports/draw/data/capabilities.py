"""What the figure of Core Capabilities shows: each learner's score in each, and those of its syllabi."""

from __future__ import annotations

from perdure.frozen import frozen
from perdure.reports.draw.data.view import Nothing, View
from perdure.reports.material import Material
from perdure.stats.capabilities import CAPABILITIES, Capability
from perdure.stats.capabilities import capabilities as found_in

__all__ = ["CapabilitiesData", "capabilities"]


@frozen
class CapabilitiesData:
    """Capabilities, learners, and for each learner one score or the reason for its absence per capability."""

    capabilities: tuple[str, ...]
    learners: tuple[str, ...]
    found: tuple[Capability, ...]
    """Learner by learner, in the order of the capabilities."""


def capabilities(material: Material, view: View | None = None) -> CapabilitiesData | Nothing:
    """Each learner's score in each Core Capability of 2019."""
    del view
    found = found_in(material.survey)
    if not found:
        return Nothing("Core Capabilities are scored under the preset framework-2019")
    if all(one.score is None for one in found):
        return Nothing("no score of a Core Capability: it is a mean of ratios to experts, and there are none")
    return CapabilitiesData(tuple(CAPABILITIES), tuple(dict.fromkeys(one.learner for one in found)), found)
