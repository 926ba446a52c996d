"""Results in a notebook: the answer first, everything there, and nothing of a log taken for an element."""

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
    """Whether every element is closed in order, and which there are."""

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
    evaluation = [Block("evaluate", one, 6) for one in (task, "breakout")]
    blocks = [*evaluation, Block("learn", task, 30), *evaluation, Block("learn", "breakout", 30), *evaluation]
    return Scenario.of("condensed", blocks, info={"scenario_type": "condensed"})


@pytest.fixture
def found(tmp_path: Path) -> perdure.Survey:
    for name, forgetting in (("keeps", 0.02), ("forgets", 0.5)):
        for life in lifetimes(IdealLearner(name=name, forgetting=forgetting, noise=0.05, spread=0.2), scenario(), 4):
            write_log(life, tmp_path / name)
    return perdure.survey(tmp_path)


def test_a_survey_shows_each_groups_answer_before_its_numbers(found: perdure.Survey) -> None:
    text = unescape(found._repr_html_())
    for group in perdure.groups(found):
        assert 0 <= text.index(title(group)) < text.index(answer(group))
        assert answer(group)
        for question, some in asked(group).items():
            assert text.index(question) > text.index("<strong>")
            assert all(one.metric.replace("_", " ") in text for one in some)
    assert all(life.id in text for life in found.scores)


def test_every_metric_of_a_lifetime_is_somewhere(found: perdure.Survey) -> None:
    text = found.scores[0]._repr_html_()
    assert all(name in text or name.replace("_", " ") in text for name in found.scores[0].metrics)


def test_a_comparison_shows_its_sentences(found: perdure.Survey) -> None:
    made = perdure.compare(found)
    text = unescape(made._repr_html_())
    for one in made:
        assert all(sentence(each, one.system, one.baseline) in text for each in one.differences.values())


def test_whatever_shows_itself_is_whole_html_without_attributes_and_scripts(found: perdure.Survey) -> None:
    syllabus = perdure.compose("condensed", ["pong", "breakout"], learn=20, evaluate=3)
    shown = (
        found,
        found.scores[0],
        perdure.groups(found)[0],
        perdure.compare(found),
        perdure.correlate(found),
        perdure.plan(k=0.5),
        perdure.lint(syllabus),
        syllabus,
        syllabus.scenario,
    )
    for one in shown:
        seen = Elements(one._repr_html_()).seen
        assert {"p", "table"} <= seen, type(one)
        assert "script" not in seen


def test_what_a_log_says_is_text(tmp_path: Path) -> None:
    with perdure.Journal(tmp_path, "life", ["reward"], learner=HOSTILE, seed=1) as journal:
        for at in range(30):
            journal.log(
                block_num=at // 10, exp_num=at, block_type="train" if at // 10 == 1 else "test",
                block_subtype="wake", task_name="a<b>", reward=float(at),
            )  # fmt: skip
    one = perdure.survey(tmp_path)
    for text in (one._repr_html_(), one.scores[0]._repr_html_(), scenario("a<b>")._repr_html_()):
        assert "<script" not in text
        assert "<b>" not in text
    assert HOSTILE in unescape(one._repr_html_())


def test_a_long_table_is_cut_and_says_so() -> None:
    blocks = [Block("learn", "pong", 1) for _ in range(250)]
    text = Scenario.of("long", blocks)._repr_html_()
    assert text.count("<tr>") == 201
    assert "50 more rows" in text
