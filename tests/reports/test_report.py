"""The report in all its forms."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from perdure import report as write_report
from perdure.errors import NotALogError, PerdureError
from perdure.reports import gather, report_of
from perdure.reports.formats.html import html, json_for_script
from perdure.reports.formats.text import latex, markdown
from perdure.reports.methods import checklist
from perdure.reports.model import Report, headline
from perdure.reports.write import REPORTS, as_text
from perdure.settings import Settings
from perdure.stats.groups import GroupedSurvey
from perdure.tables import escape_latex, escape_markdown
from perdure.text import p_text

GatherRun = Callable[..., GroupedSurvey]
Run = Callable[..., Path]
HOSTILE = '<script>alert("x")</script>'


class Elements(HTMLParser):
    """Page as a browser sees it: elements with their attributes, and the text outside scripts and styles."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.seen: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.scripts: list[str] = []
        self._inside = ""
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append((tag, dict(attrs)))
        self._inside = tag
        if tag == "script":
            self.scripts.append("")

    def handle_endtag(self, tag: str) -> None:
        self._inside = ""

    def handle_data(self, data: str) -> None:
        if self._inside == "script":
            self.scripts[-1] += data
        elif self._inside != "style":
            self.text += data


@pytest.fixture(scope="module")
def report(gather_run: GatherRun) -> Report:
    return report_of(gather_run(3, 3), command="perdure report logs", now="2026-01-01T00:00:00+00:00")


@pytest.fixture
def hostile(tmp_path: Path, gather_run: GatherRun) -> Report:
    """Write a report in which every name from a log is an attack."""
    import importlib.util

    spec = importlib.util.spec_from_file_location("lives_of_tests", Path(__file__).parent / "conftest.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    for seed in range(2):
        module.write_life(tmp_path / "bad", f"life-{seed}", [HOSTILE, "</script><b>"], seed=seed, learner=HOSTILE)
    material = gather([tmp_path / "bad"])
    notes = tuple(replace(item.score, notes=(HOSTILE,)) for item in material.lifetimes)
    lives = tuple(replace(item, score=score) for item, score in zip(material.lifetimes, notes, strict=True))
    hostile = GroupedSurvey(replace(material.survey, lifetimes=lives), material.groups)
    return report_of(hostile, title=HOSTILE, command=HOSTILE)


@pytest.mark.parametrize("suffix", [".html", ".md", ".json"])
def test_the_learner_that_ends_better_is_named_before_any_other_verdict(report: Report, suffix: str) -> None:
    (comparison,) = report.comparisons
    assert "on average keeper ends " in comparison.answer
    text = as_text(report, suffix)
    if suffix == ".html":
        text = Elements(text).text
    elif suffix == ".md":
        text = text.replace("\\", "")
    else:
        assert json.loads(text)["comparisons"][0]["answer"] == comparison.answer
        return
    assert text.count(comparison.answer) == 1
    assert text.index(comparison.answer) < text.index("forgetter forgets" if suffix == ".html" else "not met")


def test_learners_are_not_judged_by_their_own_experts_on_the_first_screen(report: Report) -> None:
    assert len(report.data.groups) > 1
    first_screen = html(report).partition("</section>")[0]
    assert "than single-task experts" not in first_screen


def test_lifetimes_are_paired_as_requested(gather_run: GatherRun) -> None:
    data = gather_run(2, 3)
    assert [item.pairing.paired for item in report_of(data).comparisons] == [True]
    assert [item.pairing.paired for item in report_of(data, paired="no").comparisons] == [False]


def test_a_verdict_is_said_for_each_condition_and_group(report: Report) -> None:
    verdicts = {(item.group, item.condition): item for item in report.verdicts}
    assert {condition for _, condition in verdicts} == {"Continuous Learning", "Transfer and Adaptation", "Scalability"}
    forgetter = verdicts["forgetter · condensed", "Continuous Learning"]
    assert forgetter.verdict == "not met"
    assert re.search(
        r"performance maintenance −\d+\.\d+ \(95 % interval .* 3 lifetimes\) forgets \(p .* against −5",
        forgetter.sentence,
    )


def test_a_sentence_and_the_table_give_the_same_p(report: Report) -> None:
    for group in report.data.groups:
        item = group.estimates["performance_maintenance"]
        (sentence,) = [
            each.sentence
            for each in report.verdicts
            if (each.group, each.condition) == (group.group, "Continuous Learning")
        ]
        assert re.search(rf"\(p (= )?{re.escape(p_text(item.p))} against", sentence), sentence


def test_transfer_that_helps_and_harms_alike_lies_alike_far_from_the_middle(gather_run: GatherRun) -> None:
    import numpy as np

    from perdure.reports.figures import FigureView
    from perdure.reports.figures.transfer import departures, transfer_matrices

    ahead = departures(np.array([[np.nan, 4.0], [0.25, np.nan]]), 1.0)
    assert ahead[0, 1] == -ahead[1, 0] == 2
    result = transfer_matrices(gather_run(3, 2), FigureView())
    assert [item.metric for item in result] == ["forward_transfer", "backward_transfer"]
    for item in result:
        places, words = zip(*item.ticks, strict=True)
        assert places[0] == -places[-1] == -max(np.nanmax(np.abs(each.ahead)) for each in result)
        assert words[2] == "1"


def test_only_the_papers_five_decide(report: Report) -> None:
    assert headline(report.data.survey.metrics) == (
        "performance_maintenance",
        "forward_transfer",
        "backward_transfer",
        "relative_performance",
        "sample_efficiency",
    )


@pytest.mark.parametrize("suffix", REPORTS.names())
def test_every_form_tells_every_verdict(report: Report, suffix: str) -> None:
    text = as_text(report, suffix)
    for item in report.verdicts:
        expected = item.sentence.split(":")[0]
        assert expected in (text if suffix != ".html" else Elements(text).text), suffix


def test_the_page_loads_nothing_from_elsewhere_and_lets_run_only_its_own_scripts(report: Report) -> None:
    page = Elements(html(report))
    for tag, attributes in page.seen:
        for name in ("src", "href", "action", "srcset", "poster"):
            given = attributes.get(name)
            assert given is None or given.startswith(("#", "data:,")), (tag, given)
    (policy,) = [item["content"] for tag, item in page.seen if tag == "meta" and "http-equiv" in item]
    assert policy is not None
    assert "http" not in policy
    run = [text for text, kind in zip(page.scripts, _kinds(page), strict=True) if kind is None]
    for script in run:
        digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
        assert f"'sha256-{digest}'" in policy
    assert "unsafe-eval" not in policy
    assert "script-src 'unsafe-inline'" not in policy


def _kinds(page: Elements) -> list[str | None]:
    return [item.get("type") for tag, item in page.seen if tag == "script"]


def test_names_from_logs_show_as_such_and_never_become_markup(hostile: Report) -> None:
    page = Elements(html(hostile))
    assert page.text.count(HOSTILE) > 4
    assert len(page.scripts) == 2
    assert not any(name.startswith("on") for _, attributes in page.seen for name in attributes)
    facts = page.scripts[0]
    assert "<" not in facts
    assert HOSTILE in json.loads(facts)["tasks"]
    assert not [tag for tag, _ in page.seen if tag == "b" and HOSTILE not in page.text]


def test_markdown_and_latex_escape_what_logs_hold(hostile: Report) -> None:
    assert HOSTILE not in markdown(hostile)
    assert r"\<script\>" in markdown(hostile)
    lines = [line for line in latex(hostile).splitlines() if not line.startswith("%")]
    assert r"$<$script$>$" in "\n".join(lines)


@given(st.recursive(st.text() | st.floats(allow_nan=False, allow_infinity=False) | st.none(), st.lists))
def test_json_inside_a_page_round_trips_and_cannot_end_its_element(facts: object) -> None:
    text = json_for_script(facts)
    assert json.loads(text) == facts
    assert not set("<>&\u2028\u2029") & set(text)


@given(st.text())
def test_no_text_breaks_out_of_a_latex_cell_or_a_markdown_table(text: str) -> None:
    bare = re.sub(
        r"\\text(backslash|asciicircum|asciitilde|bar|endash)\{\}|\\ldots\{\}|\{[\[\]*]?\}|\\[{}$&#%_]",
        "",
        escape_latex(text),
    )
    assert not set("{}&#%_~^\n") & set(bare)
    assert "\n" not in escape_markdown(text)
    assert not re.search(r"(?<!\\)(\\\\)*\|", escape_markdown(text))


def test_lifetimes_of_one_protocol_have_one_protocol_in_the_provenance(report: Report) -> None:
    """Compare protocols by digest, because lifetimes also record their own seeds and scenario."""

    def shown(digests: str) -> str:
        lifetimes = [
            {"id": str(seed), "protocol": {"digest": digest, "scenario": f"type {seed}", "seeds": {"learner": seed}}}
            for seed, digest in enumerate(digests)
        ]
        return html(replace(report, provenance={**report.provenance, "lifetimes": lifetimes}))

    assert "<dt>protocol</dt><dd>digest a</dd>" in shown("aaa")
    assert "<dt>protocol</dt><dd>2 protocols (listed below)</dd>" in shown("aabb")


def test_a_metric_that_no_lifetime_of_a_group_has_is_explained_once(gather_run: GatherRun) -> None:
    report = report_of(gather_run(2, 3, ("keeper",), experts=False))
    (group,) = report.data.groups
    reason = group.estimates["relative_performance"].lacking
    assert html(report).count(f"{reason} (e.g. ") == 0
    assert f": {reason}</li>" in html(report)


def test_a_clean_working_tree_is_called_clean(report: Report) -> None:
    lifetimes = [{"id": "a", "git": {"commit": "abc", "changed": False}}]
    page = html(replace(report, provenance={**report.provenance, "lifetimes": lifetimes}))
    assert "<dt>git</dt><dd>commit abc, working tree clean</dd>" in page


def test_the_json_holds_what_score_gives_and_the_groups(report: Report) -> None:
    facts = json.loads(as_text(report, ".json"))
    assert [item["id"] for item in facts["lifetimes"]] == [item.id for item in report.data.lifetimes]
    assert {item["group"] for item in facts["groups"]} == {"keeper · condensed", "forgetter · condensed"}
    assert facts["comparisons"][0]["paired"] is True
    assert facts["provenance"]["command"] == "perdure report logs"


def test_the_checklist_says_what_is_missing_and_what_to_add(gather_run: GatherRun) -> None:
    alone = {item.what: item for item in checklist(gather_run(2, 1, ("keeper",)))}
    assert alone["Several runs from different seeds, with mean and spread"].state == "missing"
    assert "perdure plan" in alone["Several runs from different seeds, with mean and spread"].found
    assert alone["Joint training as an upper bound"].state == "missing"
    assert alone["Average accuracy, backward transfer (BWT) and learning accuracy"].state == "present"
    assert alone["The same architecture for all that is compared"].state == "does not apply"


def test_definitions_come_from_the_declarations(report: Report) -> None:
    text = Elements(html(report)).text
    for name in report.valued:
        assert report.data.survey.metrics[name].summary in text


def test_a_lifetime_that_cannot_be_read_is_named_and_the_others_are_reported(tmp_path: Path, run_folder: Run) -> None:
    run = run_folder(2, 2, ("keeper",))
    broken = run / "lives" / "keeper-0"
    (broken / "logger_info.json").write_text("{")
    report = write_report(run, tmp_path / "report.html")
    assert [path for path, _ in report.data.survey.left_out] == [str(broken)]
    assert "not JSON" in (tmp_path / "report.html").read_text()


def test_many_lifetimes_are_told_the_same_in_one_process_and_in_several(tmp_path: Path, gather_run: GatherRun) -> None:
    material = gather_run(2, 3)
    run = Path(material.lifetimes[0].score.identity.source).parents[1]
    several = gather([run], jobs=2)
    assert [item.id for item in several.lifetimes] == [item.id for item in material.lifetimes]
    for item, other in zip(material.lifetimes, several.lifetimes, strict=True):
        assert {name: each.value for name, each in item.score.metrics.items()} == {
            name: each.value for name, each in other.score.metrics.items()
        }
        assert item.seen.blocks[1].measured.y.tolist() == other.seen.blocks[1].measured.y.tolist()


def test_an_unknown_suffix_is_refused_before_any_log_is_read(tmp_path: Path) -> None:
    with pytest.raises(
        PerdureError,
        match=r"report\.docx: a report cannot be written as \.docx; choose one of \.html, \.md, \.json, \.tex",
    ):
        write_report(tmp_path / "nowhere", tmp_path / "report.docx")
    with pytest.raises(NotALogError, match="no such file or folder"):
        write_report(tmp_path / "nowhere", tmp_path / "report.html")


def test_a_report_that_cannot_be_written_leaves_nothing_behind(tmp_path: Path, gather_run: GatherRun) -> None:
    run = Path(gather_run(1, 1, ("keeper",), experts=False).lifetimes[0].score.identity.source)
    (tmp_path / "taken").mkdir()
    (tmp_path / "taken" / "report.html").mkdir()
    with pytest.raises(PerdureError, match="cannot be written"):
        write_report(run, tmp_path / "taken" / "report.html")
    assert [item.name for item in (tmp_path / "taken").iterdir()] == ["report.html"]


def test_lifetimes_of_different_measures_are_shown_but_not_pooled(tmp_path: Path, gather_run: GatherRun) -> None:
    material = gather_run(2, 2)
    apart = GroupedSurvey(material.survey, (), "results of different measures are never pooled")
    page = Elements(html(report_of(apart))).text
    assert "never pooled" in page
    assert material.lifetimes[0].id in page


def test_an_accuracy_matrix_alone_makes_a_report(tmp_path: Path) -> None:
    (tmp_path / "matrix.csv").write_text("98.5,62.3,55.1\n,97.8,58.6\n,,98.2\n")
    for suffix in REPORTS.names():
        write_report(tmp_path / "matrix.csv", tmp_path / f"report{suffix}")
    assert "average_accuracy" in (tmp_path / "report.md").read_text().replace("\\", "")


def test_lifetimes_that_still_run_are_shown_but_not_counted(tmp_path: Path) -> None:
    import numpy as np

    import perdure

    journal = perdure.Journal(tmp_path / "lives", "young", ["reward"], learner="mine")
    for block, (kind, task) in enumerate([("test", "a"), ("train", "a"), ("test", "a"), ("train", "b"), ("test", "a")]):
        numbers = np.arange(20) + 20 * block
        journal.log_many(block_num=block, exp_num=numbers, block_type=kind, task_name=task, reward=numbers / 100)
    report = write_report(tmp_path / "lives", tmp_path / "report.html")
    journal.close()
    assert {item.verdict for item in report.verdicts} == {"not measured"}
    assert all("no lifetime has reached its end" in item.sentence for item in report.verdicts)
    page = Elements((tmp_path / "report.html").read_text())
    assert "mine cannot be judged yet: no lifetime has reached its end" in page.text
    label = next(item["aria-label"] for tag, item in page.seen if tag == "svg" and item.get("class") == "figure")
    assert "Learning curves and evaluations of" in str(label)


def test_gathering_loads_no_drawing_library() -> None:
    import subprocess
    import sys

    code = "import perdure.reports, sys; print(*sys.modules)"
    loaded = set(
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    )
    assert not loaded & {"vl_convert", "jinja2", "starlette", "uvicorn", "scipy.stats"}


def test_a_lifetime_of_a_hundred_thousand_experiences_travels_in_few_bytes() -> None:
    from functools import partial

    from perdure import figure as draw
    from perdure.reports import gather, thin_lifetime
    from perdure.scenario.model import Block, Scenario
    from perdure.simulate import IdealLearner
    from perdure.simulate import lifetime as lived

    tasks = ("a", "b", "c", "d")
    evaluation = [Block("evaluate", task, 20) for task in tasks]
    blocks = [block for task in tasks * 3 for block in (Block("learn", task, 8400), *evaluation)]
    life = lived(IdealLearner(), Scenario.of("long", [*evaluation, *blocks]))
    gathered = gather(life, look=partial(thin_lifetime, columns=300))
    (scored,) = gathered.lifetimes
    assert scored.score.learning_experiences > 100_000
    assert len(draw("lifetime", gathered).body) < 30_000


def test_a_papers_preset_has_its_tables_of_t_and_p_in_every_form(two_runs: tuple[Path, Path]) -> None:
    report = report_of(gather(two_runs, settings=Settings("baker-2023")))
    assert report.tally is not None
    met, of = report.tally.met()
    facts = json.loads(as_text(report, ".json"))["tally"]
    assert (facts["met"], facts["of"]) == (met, of)
    for suffix in (".md", ".tex", ".html"):
        page = as_text(report, suffix)
        assert "Against the thresholds: t" in page
        assert "Against the thresholds: one-tailed p" in page
        assert f"{met} of {of} met" in page
    assert report_of(gather(two_runs)).tally is None  # the p of standard belong to several questions
