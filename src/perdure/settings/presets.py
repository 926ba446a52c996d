"""What presets are called: each name stated once, for those that declare it and those that treat it apart."""

from __future__ import annotations

STANDARD = "standard"
"""Whose lifetimes are decided by Perdure's own rule; the others test as their papers do, or decide nothing."""
NEW_2022 = "new-2022"
BAKER_2023 = "baker-2023"
L2METRICS_31 = "l2metrics-3.1"
FRAMEWORK_2019 = "framework-2019"
