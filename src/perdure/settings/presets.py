"""Names of the presets, shared by the modules that declare them and those that treat one differently."""

from __future__ import annotations

STANDARD = "standard"
"""The preset that decides by Perdure's own rule. The others test as their papers do, or do not decide."""
NEW_2022 = "new-2022"
BAKER_2023 = "baker-2023"
L2METRICS_31 = "l2metrics-3.1"
FRAMEWORK_2019 = "framework-2019"
