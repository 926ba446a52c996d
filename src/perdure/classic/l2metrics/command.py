"""The command line of l2metrics 3.1, option by option."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from perdure import files
from perdure.classic.l2metrics.report import MetricsReport
from perdure.classic.l2metrics.store import MODES, store_expert
from perdure.errors import PerdureError
from perdure.lazy import pl

_OBJECT = "expected an object of names and their values"
_WINDOWS = ("flat", "hanning", "hamming", "bartlett", "blackman", "none")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m perdure.classic.l2metrics",
        description="What python -m l2metrics and calc_metrics.py did, with their options.",
    )
    add = parser.add_argument
    add("-l", "--log-dir", required=True, help="a log: its folder, or its name under $L2DATA/logs")
    add("-R", "--recursive", action="store_true", help="every log below that folder")
    add("-r", "--variant-mode", default="aware", choices=("aware", "agnostic"))
    add("-s", "--ste-store-mode", choices=MODES, help="store the log as an expert: in place of others, or beside them")
    add("-v", "--ste-averaging-method", default="metrics", choices=("metrics", "time"))
    add("-p", "--perf-measure", default="reward", help="the column to score")
    add("-a", "--aggregation-method", default="mean", choices=("mean", "median"))
    add("-m", "--maintenance-method", default="mrlep", choices=("mrlep", "mrtlp", "both"))
    add("-t", "--transfer-method", default="ratio", choices=("ratio", "contrast", "both"))
    add("-n", "--normalization-method", default="task", choices=("task", "run", "none"))
    add("-g", "--smoothing-method", default="flat", choices=_WINDOWS)
    add("-G", "--smooth-eval-data", dest="do_smooth_eval_data", action="store_true")
    add("-w", "--window-length", type=int)
    add("-x", "--clamp-outliers", action="store_true")
    add("-d", "--data-range-file", help='JSON {"task": {"min": …, "max": …}}')
    add("-N", "--noise", default=[0.0, 0.0], metavar=("MEAN", "STD"), nargs=2, type=float)
    add("-O", "--output-dir", default="results", help="where files are written")
    add("-o", "--output", help="the beginning of their names")
    add("-u", "--unit", default="exp_num", choices=("exp_num", "steps"), help="figures here count experiences")
    _switch(parser, "-e", "--show-eval-lines", "--no-show-eval-lines", "show_eval_lines")
    _switch(parser, "-P", "--do-plot", "--no-plot", "do_plot")
    add("-T", "--plot-types", default=["all"], nargs="+", choices=("all", "raw", "eb", "lb", "ste"))
    _switch(parser, "-S", "--do-save", "--no-save", "do_save")
    add("-c", "--load-settings", help="JSON of options, which overrule those given here")
    _switch(parser, "-C", "--do-save-settings", "--no-save-settings", "do_save_settings")
    return parser


def _switch(parser: argparse.ArgumentParser, short: str, long: str, off: str, name: str) -> None:
    parser.add_argument(short, long, dest=name, default=True, action="store_true")
    parser.add_argument(off, dest=name, action="store_false")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run it; 2 where something is wrong, which l2metrics did not say."""
    options = vars(_parser().parse_args(arguments))
    try:
        if options["load_settings"]:
            options |= _object(options["load_settings"])
        bounds = options["data_range_file"] and _object(options["data_range_file"])
        options["data_range"] = {task.lower(): one for task, one in bounds.items()} if bounds else None
        logs = _below(Path(options["log_dir"])) if options["recursive"] else [Path(options["log_dir"])]
        if options["ste_store_mode"]:
            for log in logs:
                print(f"stored {store_expert(log, options['ste_store_mode'])}")  # noqa: T201
        elif options["recursive"]:
            return 2 if _many(logs, options) else 0
        else:
            _one(logs[0], options)
    except (PerdureError, OSError) as problem:
        _say(problem)
        return 2
    return 0


def _say(problem: Exception) -> None:
    print(f"l2metrics: {problem}", file=sys.stderr)  # noqa: T201


def _object(file: str) -> dict[str, Any]:
    try:
        found = files.parse_json(files.read_text(file, files.HEADER_LIMIT))
    except ValueError as problem:
        raise PerdureError(f"not JSON: {problem}", _OBJECT, file=file) from problem
    if not isinstance(found, dict):
        raise PerdureError("no object", _OBJECT, file=file)
    return found


def _below(folder: Path) -> list[Path]:
    found = sorted(one.parent for one in folder.rglob("logger_info.json") if one.parent != folder)
    if not found:
        raise PerdureError("no logs below this folder", "leave -R away where it is one itself", file=folder)
    return found


def _calculated(log: Path, options: dict[str, Any]) -> MetricsReport:
    made = MetricsReport(**{**options, "log_dir": log})
    if any(options["noise"]):
        made.add_noise(*options["noise"])
    made.calculate()
    return made


def _plotted(made: MetricsReport, options: dict[str, Any]) -> None:
    if options["do_plot"] and options["do_save"]:
        made.plot(options["plot_types"], save=True, output_dir=Path(options["output_dir"]) / "plots")


def _one(log: Path, options: dict[str, Any]) -> None:
    made = _calculated(log, options)
    to = {"output_dir": options["output_dir"], "filename": options["output"]}
    if options["do_save_settings"]:
        made.save_settings(**to)
    made.report()
    if options["do_save"]:
        made.save_metrics(**to)
        made.save_data(**to)
    _plotted(made, options)


def _many(logs: Sequence[Path], options: dict[str, Any]) -> bool:
    """A row for each log; one that cannot be scored is named, and keeps no other from it. Whether there was one."""
    made: list[MetricsReport] = []
    wrong: list[PerdureError] = []
    for log in logs:
        try:
            made.append(_calculated(log, options))
        except PerdureError as problem:
            wrong.append(problem)
        else:
            _plotted(made[-1], options)
    base = Path(options["output_dir"]) / (options["output"] or "ll_metrics")
    base.parent.mkdir(parents=True, exist_ok=True)
    if options["do_save_settings"]:
        files.deliver(Path(f"{base}_settings.json"), f"{json.dumps(options)}\n".encode())
    if options["do_save"] and made:
        rows = [
            {"run_id": one.log_dir.name, **one.lifetime_values}
            | {key: said for key, said in one.ll_metrics_dict.items() if not isinstance(said, dict | float | None)}
            | {key: one.ll_metrics_dict[key] for key in ("min", "max", "runtime")}
            for one in made
        ]
        written = pl.DataFrame(rows, infer_schema_length=None).write_csv(separator="\t")
        files.deliver(Path(f"{base}.tsv"), written.encode())
        everything = json.dumps([one.ll_metrics_dict for one in made], ensure_ascii=False, allow_nan=False)
        files.deliver(Path(f"{base}.json"), f"{everything}\n".encode())
        regimes = pl.concat([one.regime_metrics for one in made], how="diagonal_relaxed")
        files.deliver(Path(f"{base}_regime.tsv"), regimes.write_csv(separator="\t").encode())
    print(f"{len(made)} of {len(logs)} logs, in {base.parent}")  # noqa: T201
    for one in wrong:
        _say(one)
    return bool(wrong)
