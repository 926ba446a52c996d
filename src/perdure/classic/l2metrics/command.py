"""The command line of l2metrics 3.1, option by option."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from perdure import files
from perdure.classic.l2metrics.report import MODES, MetricsReport, store_expert
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
    add("-T", "--plot-types", default=["all"], nargs="+", choices=("all", "raw", "eb", "lb", "ste"))
    add("-c", "--load-settings", help="JSON of options, which overrule those given here")
    for short, name, verb in (
        ("-e", "show_eval_lines", "show-eval-lines"),
        ("-P", "do_plot", "plot"),
        ("-S", "do_save", "save"),
        ("-C", "do_save_settings", "save-settings"),
    ):
        add(short, f"--{name.replace('_', '-')}", dest=name, default=True, action="store_true")
        add(f"--no-{verb}", dest=name, action="store_false")
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; return 2 if something is wrong, unlike l2metrics."""
    options = vars(_parser().parse_args(arguments))
    try:
        if options["load_settings"]:
            options |= _object(options["load_settings"])
        bounds = options["data_range_file"] and _object(options["data_range_file"])
        options["data_range"] = {task.lower(): span for task, span in bounds.items()} if bounds else None
        logs = _logs_below(Path(options["log_dir"])) if options["recursive"] else [Path(options["log_dir"])]
        if options["ste_store_mode"]:
            for log in logs:
                print(f"stored {store_expert(log, options['ste_store_mode'])}")  # noqa: T201
        elif options["recursive"]:
            return 2 if _score_all(logs, options) else 0
        else:
            _score(logs[0], options)
    except (PerdureError, OSError) as problem:
        _print_error(problem)
        return 2
    return 0


def _print_error(problem: Exception) -> None:
    print(f"l2metrics: {problem}", file=sys.stderr)  # noqa: T201


def _object(file: str) -> dict[str, Any]:
    try:
        content = files.parse_json(files.read_text(file, files.HEADER_LIMIT))
    except ValueError as problem:
        raise PerdureError(f"not JSON: {problem}", _OBJECT, file=file) from problem
    if not isinstance(content, dict):
        raise PerdureError("no object", _OBJECT, file=file)
    return content


def _logs_below(folder: Path) -> list[Path]:
    logs = sorted(file.parent for file in folder.rglob("logger_info.json") if file.parent != folder)
    if not logs:
        raise PerdureError("no logs below this folder", "leave -R away where it is one itself", file=folder)
    return logs


def _calculate(log: Path, options: Mapping[str, Any]) -> MetricsReport:
    report = MetricsReport(**{**options, "log_dir": log})
    if any(options["noise"]):
        report.add_noise(*options["noise"])
    report.calculate()
    return report


def _plot(report: MetricsReport, options: Mapping[str, Any]) -> None:
    if options["do_plot"] and options["do_save"]:
        report.plot(options["plot_types"], save=True, output_dir=Path(options["output_dir"]) / "plots")


def _score(log: Path, options: Mapping[str, Any]) -> None:
    report = _calculate(log, options)
    target = {"output_dir": options["output_dir"], "filename": options["output"]}
    if options["do_save_settings"]:
        report.save_settings(**target)
    report.report()
    if options["do_save"]:
        report.save_metrics(**target)
        report.save_data(**target)
    _plot(report, options)


def _score_all(logs: Sequence[Path], options: Mapping[str, Any]) -> bool:
    """Write a row for each log; return whether one could not be scored."""
    reports: list[MetricsReport] = []
    problems: list[PerdureError] = []
    for log in logs:
        try:
            report = _calculate(log, options)
        except PerdureError as problem:
            problems.append(problem)
        else:
            reports.append(report)
            _plot(report, options)
    base = Path(options["output_dir"]) / (options["output"] or "ll_metrics")
    base.parent.mkdir(parents=True, exist_ok=True)
    if options["do_save_settings"]:
        files.deliver(Path(f"{base}_settings.json"), f"{json.dumps(options)}\n".encode())
    if options["do_save"] and reports:
        rows = pl.DataFrame([_row(report) for report in reports], infer_schema_length=None)
        files.deliver(Path(f"{base}.tsv"), rows.write_csv(separator="\t").encode())
        results = json.dumps([report.ll_metrics_dict for report in reports], ensure_ascii=False, allow_nan=False)
        files.deliver(Path(f"{base}.json"), f"{results}\n".encode())
        regimes = pl.concat([report.regime_metrics for report in reports], how="diagonal_relaxed")
        files.deliver(Path(f"{base}_regime.tsv"), regimes.write_csv(separator="\t").encode())
    print(f"{len(reports)} of {len(logs)} logs, in {base.parent}")  # noqa: T201
    for error in problems:
        _print_error(error)
    return bool(problems)


def _row(report: MetricsReport) -> dict[str, Any]:
    results = report.ll_metrics_dict
    texts = {name: value for name, value in results.items() if not isinstance(value, dict | float | None)}
    return {
        "run_id": report.log_dir.name,
        **report.lifetime_values,
        **texts,
        **{name: results[name] for name in ("min", "max", "runtime")},
    }
