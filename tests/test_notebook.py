"""Results in a notebook: the answer comes first, nothing is missing, and text from logs is escaped."""

from __future__ import annotations

from html import unescape
from html.parser import HTMLParser
from pathlib import Path

import pytest

import perdure
from perdure import Block, Scenario
from perdure.simulate import IdealLearner, lifetimes, write_log
from perdure.stats.answer import answer, asked, title
from perdure.stats.sentences import sentence

HOSTILE = "<script>alert(1)</script>&"


class Elements(HTMLParser):
    """Elements of a page; each must be closed in order."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: set[str] = set()
        self.feed(text)
        assert not self.open

    def handle_starttag(self, tag: str, attrs: object) -> None:
        assert not attrs
        self.seen.add(tag)
        if tag != "br":
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def scenario(task: str = "pong") -> Scenario:
    evaluation = [Block("evaluate", item, 6) for item in (task, "breakout")]
    blocks = [*evaluation, Block("learn", task, 30), *evaluation, Block("learn", "breakout", 30), *evaluation]
    return Scenario.of("condensed", blocks, info={"scenario_type": "condensed"})


@pytest.fixture
def result(tmp_path: Path) -> perdure.Survey:
    for name, forgetting in (("keeps", 0.02), ("forgets", 0.5)):
        for lifetime in lifetimes(
            IdealLearner(name=name, forgetting=forgetting, noise=0.05, spread=0.2), scenario(), 4
        ):
            write_log(lifetime, tmp_path / name)
    return perdure.survey(tmp_path)


def test_a_survey_shows_each_groups_answer_before_its_numbers(result: perdure.Survey) -> None:
    text = unescape(result._repr_html_())
    for group in perdure.groups(result):
        assert 0 <= text.index(title(group)) < text.index(answer(group))
        assert answer(group)
        for question, some in asked(group).items():
            assert text.index(question) > text.index("<strong>")
            assert all(item.metric.replace("_", " ") in text for item in some)
    assert all(lifetime.id in text for lifetime in result.scores)


def test_every_metric_of_a_lifetime_is_shown(result: perdure.Survey) -> None:
    text = result.scores[0]._repr_html_()
    assert all(name in text or name.replace("_", " ") in text for name in result.scores[0].metrics)


def test_a_comparison_shows_its_sentences(result: perdure.Survey) -> None:
    comparisons = perdure.compare(result)
    text = unescape(comparisons._repr_html_())
    for item in comparisons:
        assert all(sentence(each, item.system, item.baseline) in text for each in item.differences.values())


def test_every_result_is_well_formed_html_without_attributes_and_scripts(result: perdure.Survey) -> None:
    syllabus = perdure.compose("condensed", ["pong", "breakout"], learn=20, evaluate=3)
    shown = (
        result,
        result.scores[0],
        perdure.groups(result)[0],
        perdure.compare(result),
        perdure.correlate(result),
        perdure.plan(k=0.5),
        perdure.lint(syllabus),
        syllabus,
        syllabus.scenario,
    )
    for item in shown:
        seen = Elements(item._repr_html_()).seen
        assert {"p", "table"} <= seen, type(item)
        assert "script" not in seen


def test_text_from_a_log_is_escaped(tmp_path: Path) -> None:
    with perdure.Journal(tmp_path, "life", ["reward"], learner=HOSTILE, seed=1) as journal:
        for number in range(30):
            journal.log(
                block_num=number // 10, exp_num=number, block_type="train" if number // 10 == 1 else "test",
                block_subtype="wake", task_name="a<b>", reward=float(number),
            )  # fmt: skip
    item = perdure.survey(tmp_path)
    for text in (item._repr_html_(), item.scores[0]._repr_html_(), scenario("a<b>")._repr_html_()):
        assert "<script" not in text
        assert "<b>" not in text
    assert HOSTILE in unescape(item._repr_html_())


def test_a_long_table_is_cut_with_a_note() -> None:
    blocks = [Block("learn", "pong", 1) for _ in range(250)]
    text = Scenario.of("long", blocks)._repr_html_()
    assert text.count("<tr>") == 201
    assert "50 more rows" in text
