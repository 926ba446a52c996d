"""Names of the presets as constants; `perdure.metrics.presets` has the presets themselves."""

from __future__ import annotations

STANDARD = "standard"
"""The preset that decides by Perdure's own rule. The others test as their papers do, or do not decide."""
NEW_2022 = "new-2022"
BAKER_2023 = "baker-2023"
L2METRICS_31 = "l2metrics-3.1"
FRAMEWORK_2019 = "framework-2019"
