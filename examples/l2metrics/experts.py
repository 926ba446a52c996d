"""Write the experts that l2metrics stored as pickles as logs, which Perdure reads.

Loading a pickle can run any code in it, so Perdure loads none. Run this script in the environment of l2metrics (it
needs its pandas, not Perdure), on a store that you trust:

    python experts.py [L2DATA]

`$L2DATA/taskinfo/TASK.pickle` becomes `$L2DATA/taskinfo/experts/TASK/0001`, `0002`, …, the newest last; the pickles
stay. `python -m perdure.classic.l2metrics` finds the logs there, `perdure score LOG --experts` takes the folder.
"""

from __future__ import annotations

import json
import os
import pickle
import sys
from pathlib import Path

STANDARD = (
    *("block_num", "exp_num", "worker_id", "block_type", "block_subtype", "task_name", "task_params"),
    *("exp_status", "timestamp"),
)


def convert(root: Path) -> None:
    """Write every stored expert below `root` as a log next to the pickle."""
    for file in sorted((root / "taskinfo").glob("*.pickle")):
        with file.open("rb") as stored:
            runs = pickle.load(stored)
        for number, run in enumerate(reversed(runs), 1):  # l2metrics keeps the newest first
            rows = run.drop(columns="regime_num", errors="ignore")
            folder = root / "taskinfo" / "experts" / file.stem / f"{number:04}"
            for (block, kind), part in rows.groupby(["block_num", "block_type"], sort=False):
                place = folder / "worker" / f"{block}-{kind}"
                place.mkdir(parents=True, exist_ok=True)
                part.to_csv(place / "data-log.tsv", sep="\t", index=False)
            measures = [name for name in rows.columns if name not in STANDARD and rows[name].dtype.kind in "iuf"]
            (folder / "logger_info.json").write_text(json.dumps({"metrics_columns": measures}))
            (folder / "scenario_info.json").write_text(json.dumps({"scenario_type": "ste"}))
            print(folder)


if __name__ == "__main__":
    given = sys.argv[1] if len(sys.argv) > 1 else os.environ.get("L2DATA", "~/l2data")
    convert(Path(given).expanduser())
