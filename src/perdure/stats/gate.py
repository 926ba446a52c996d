"""Gates: whether verdicts allow a pipeline to go on."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Literal

from msgspec import Struct

from perdure.errors import PerdureError, UnknownNameError
from perdure.stats.compare import Comparison, Difference
from perdure.stats.model import Estimate, Group
from perdure.stats.sentences import words_of
from perdure.text import interval, join_words, number

Outcome = Literal["pass", "fail", "undecided"]

_CHANGE: Mapping[str, Mapping[str, Outcome]] = {
    "forgets": {"gains": "pass", "keeps": "pass", "forgets": "fail"},
    "loses": {"gains": "pass", "keeps": "pass", "loses": "fail", "forgets": "fail"},
    "keeps": {"gains": "pass", "keeps": "pass", "forgets": "fail"},
    "gains": {"gains": "pass", "forgets": "fail"},
}
"""Word that a gate names → verdict on a change of performance → outcome. Other verdicts leave it undecided."""
_COMPARED: Mapping[str, Mapping[str, Outcome]] = {
    "worse": {"better": "pass", "no worse": "pass", "as good": "pass", "worse": "fail"},
    "no-worse": {"better": "pass", "no worse": "pass", "as good": "pass", "worse": "fail"},
    "better": {"better": "pass", "worse": "fail", "no better": "fail", "as good": "fail"},
}
FAIL_IF_COMPARED = ("worse",)
UNLESS_COMPARED = ("no-worse", "better")


class Gate(Struct, frozen=True):
    """A condition on verdicts, as options of the command line state it."""

    fail_if: str | None = None
    """Word that must not be the verdict."""
    unless: str | None = None
    """Word that must be the verdict."""
    if_undecided: Literal["pass", "fail"] = "fail"

    @property
    def conditions(self) -> tuple[tuple[str, str], ...]:
        """The options that were given, with their words."""
        given = (("--fail-if", self.fail_if), ("--unless", self.unless))
        return tuple((option, word) for option, word in given if word is not None)


class GateResult(Struct, frozen=True):
    """The outcome of a gate, with one line that gives the reason."""

    passed: bool
    reason: str


def gate_groups(groups: Sequence[Group], gate: Gate) -> GateResult:
    """Return whether the verdicts on every group allow to go on; without conditions they do."""
    results: list[tuple[Outcome, str]] = []
    for option, word in gate.conditions:
        favourable = option == "--unless"
        known: dict[str, None] = {}
        judged = False
        for group in groups:
            for name, estimate in group.estimates.items():
                if estimate.bar.headline != ("matrix" if group.unit else "log"):
                    continue
                outcomes = _outcomes(name, estimate, favourable=favourable)
                known.update(dict.fromkeys(outcomes))
                if word in outcomes:
                    judged = True
                    outcome = outcomes[word].get(estimate.word or "", "undecided")
                    results.append((outcome, f"{option} {word}: {_about(group, estimate)}"))
        if not judged:
            if not groups:
                results.append(("undecided", f"{option} {word}: no group of lifetimes could be judged"))
                continue
            raise UnknownNameError(f"verdict for {option}", word, known)
    return _result(results, gate)


def gate_comparisons(comparisons: Iterable[Comparison], gate: Gate) -> GateResult:
    """Return whether the answers to which system ends up better, or the primary metrics, allow to go on."""
    results: list[tuple[Outcome, str]] = []
    for option, word in gate.conditions:
        words = FAIL_IF_COMPARED if option == "--fail-if" else UNLESS_COMPARED
        if word not in words:
            raise UnknownNameError(f"verdict for {option}", word, words)
        for comparison in comparisons:
            primary = comparison.primary
            decisive = comparison.tested.get(primary) if primary else comparison.level_reached
            verdict = decisive.verdict if decisive else None
            if decisive and verdict is None and decisive.difference is not None and not decisive.ahead:
                verdict = "as good"  # the same values in every lifetime, as of a learner that did not change
            outcome = _COMPARED[word].get(verdict or "", "undecided")
            results.append((outcome, f"{option} {word}: {_compared(comparison, decisive)}"))
    if gate.conditions and not results:
        raise PerdureError("nothing was compared", "give two systems with lifetimes of one scenario type and measure")
    return _result(results, gate)


def _outcomes(metric: str, estimate: Estimate, *, favourable: bool) -> dict[str, Mapping[str, Outcome]]:
    """Return the words that a gate may name for a metric → verdict → outcome."""
    words = words_of(metric, estimate.bar)
    if words.of_change:
        return {word: outcomes for word, outcomes in _CHANGE.items() if (word in ("keeps", "gains")) is favourable}
    return {words.better if favourable else words.worse: {words.better: "pass", words.worse: "fail"}}


def _about(group: Group, estimate: Estimate) -> str:
    """Return `perceptron forgets (performance maintenance −56, 95 % interval −61.1 … −50.9)`."""
    name = estimate.metric.replace("_", " ")
    spread = "" if estimate.low is None else f", interval {interval(estimate.low, estimate.high)}"
    value = f"{name} {number(estimate.mean, estimate.width)}{spread}"
    return f"{group.learner or group.group}: {estimate.word or 'undecided'} ({value})"


def _compared(comparison: Comparison, decisive: Difference | None) -> str:
    pair = f"{comparison.system} and {comparison.baseline}"
    metric = comparison.primary.replace("_", " ") if comparison.primary else "the level at the end"
    return decisive.sentence.rstrip(".") if decisive else f"{pair}: {metric} was not compared"


def _result(results: Sequence[tuple[Outcome, str]], gate: Gate) -> GateResult:
    if not results:
        return GateResult(True, "")
    failing = [reason for outcome, reason in results if outcome == "fail"]
    unclear = [reason for outcome, reason in results if outcome == "undecided"]
    if failing:
        return GateResult(False, f"gate failed: {join_words(failing)}")
    if unclear and gate.if_undecided == "fail":
        return GateResult(False, f"gate failed, undecided: {join_words(unclear)} (--if-undecided pass lets it pass)")
    undecided = ", undecided" if unclear else ""
    return GateResult(True, f"gate passed{undecided}: {join_words(unclear or [reason for _, reason in results])}")
