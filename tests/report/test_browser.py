"""The report in a real browser, opened from a file."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from perdure.report import write_report
from perdure.report.material import Material

Tell = Callable[..., Material]


@pytest.fixture
def written(tmp_path: Path, told: Tell) -> tuple[Path, Material]:
    material = told(3, 3)
    run = Path(material.lives[0].score.identity.source).parents[1]
    return tmp_path / "report.html", write_report(run, tmp_path / "report.html").material


@pytest.fixture
def page(browser: Any, written: tuple[Path, Material]) -> Iterator[Any]:
    """The report open in a tab that remembers what it asked for and what it complained about."""
    opened = browser.new_page(viewport={"width": 1200, "height": 900})
    opened.complaints = []
    opened.asked = []
    opened.on("console", lambda message: opened.complaints.append(message.text) if message.type == "error" else None)
    opened.on("pageerror", lambda problem: opened.complaints.append(str(problem)))
    opened.on("request", lambda request: opened.asked.append(request.url))
    opened.goto(written[0].as_uri())
    opened.wait_for_selector(".plot .main-svg")
    yield opened
    opened.close()


def test_it_opens_offline_without_a_request_or_a_complaint(page: Any, written: tuple[Path, Material]) -> None:
    for at in range(0, page.evaluate("document.body.scrollHeight"), 700):
        page.evaluate(f"scrollTo(0, {at})")
        page.wait_for_timeout(30)
    page.wait_for_timeout(300)
    assert page.asked == [written[0].as_uri()]
    assert page.complaints == []
    folded = "document.querySelectorAll('details .plot').length"
    plots = page.evaluate("document.querySelectorAll('.plot').length") - page.evaluate(folded)
    assert page.evaluate("document.querySelectorAll('.plot.js-plotly-plot').length") == plots


def test_a_task_is_toggled_in_every_figure_by_mouse_and_by_key(page: Any) -> None:
    visible = """() => [...document.querySelectorAll('.plot.js-plotly-plot')].flatMap(one => one.data)
        .filter(trace => trace.meta && trace.meta.task === 'task01').map(trace => trace.visible)"""
    assert set(page.evaluate(visible)) == {True}
    every = f"shown => {{ const found = ({visible})(); return found.length && found.every(one => one === shown); }}"
    button = page.locator("button.task", has_text="task01")
    button.click()
    assert button.get_attribute("aria-pressed") == "false"
    page.wait_for_function(every, arg=False)
    button.press("Enter")
    page.wait_for_function(every, arg=True)


def test_a_hover_shows_the_value_that_the_log_holds(page: Any, written: tuple[Path, Material]) -> None:
    sketch = written[1].lives[0].sketch
    stretch = next(one for one in sketch.stretches if one.block.mode == "learn")
    where = page.evaluate(
        """([task, at]) => { const plot = [...document.querySelectorAll('.plot.js-plotly-plot')][0];
            const curve = plot.data.findIndex(trace => trace.name === task + ', as logged');
            Plotly.Fx.hover(plot, [{ curveNumber: curve, pointNumber: at }]);
            return plot.data[curve].x[at]; }""",
        [stretch.block.task, 7],
    )
    assert where == stretch.first + 7
    shown = page.locator(".hoverlayer text").all_text_contents()
    value = stretch.measured.y[7]
    assert any(f"{value:.6g}".replace("-", "−") in text for text in shown), (value, shown)


def test_legends_and_labels_cover_nothing_and_are_not_cut(page: Any) -> None:
    for name in ("stability", "profiles", "radar"):
        place = page.locator(f"[data-figure={name}]").first
        place.scroll_into_view_if_needed()
        place.locator(".legend").wait_for()
        page.wait_for_timeout(300)
        paper, legend = place.bounding_box(), place.locator(".legend").bounding_box()
        words = [one.bounding_box() for one in place.locator(".xtitle, .angularaxistick text").all()]
        assert words
        for word in words:
            assert word["y"] + word["height"] <= legend["y"] + 1, name
            assert word["x"] >= paper["x"] - 1, name
            assert word["x"] + word["width"] <= paper["x"] + paper["width"] + 1, name


def test_the_table_sorts_by_a_heading_and_says_so(page: Any) -> None:
    table = page.locator("#lifetimes table").first
    head = table.locator("th", has_text="performance_maintenance")
    column = head.evaluate("one => one.cellIndex") + 1
    read = f"tbody tr > :nth-child({column})"

    def numbers() -> list[float]:
        return [float(text.replace("−", "-")) for text in table.locator(read).all_text_contents()]

    head.locator("button").click()
    assert head.get_attribute("aria-sort") == "ascending"
    assert numbers() == sorted(numbers())
    head.locator("button").press("Enter")
    assert head.get_attribute("aria-sort") == "descending"
    assert numbers() == sorted(numbers(), reverse=True)


def test_a_folded_page_opens_with_its_figure_its_metrics_and_its_blocks(page: Any) -> None:
    fold = page.locator("#life-1")
    fold.locator("summary").click()
    fold.locator(".plot .main-svg").first.wait_for()
    metrics, blocks = fold.locator(".tables table").all()
    assert "performance_maintenance" in metrics.locator("tbody th").all_text_contents()
    assert blocks.locator("tbody tr").count() == 15
    assert page.complaints == []


def test_it_prints(page: Any) -> None:
    assert page.pdf().startswith(b"%PDF")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_can_be_read_on_its_paper(page: Any, scheme: str) -> None:
    page.emulate_media(color_scheme=scheme)
    ratios = page.evaluate(
        """() => { const light = (text) => { const [r, g, b] = text.match(/[\\d.]+/g).map(Number)
              .map(v => v / 255).map(v => v <= .03928 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4);
              return .2126 * r + .7152 * g + .0722 * b; };
            const paper = light(getComputedStyle(document.body).backgroundColor);
            return ['p', 'a', 'th', 'td', '.chip', '.soft', 'caption', 'figcaption', 'summary', '.note', 'button.task']
              .flatMap(one => [...document.querySelectorAll(one)].slice(0, 8)).map(one => {
                const ink = light(getComputedStyle(one).color);
                const ratio = (Math.max(ink, paper) + .05) / (Math.min(ink, paper) + .05);
                return [one.tagName + '.' + one.className, ratio]; }); }"""
    )
    poor = [(name, round(ratio, 2)) for name, ratio in ratios if ratio < 4.5]
    assert not poor


def test_everything_has_a_name_a_place_and_an_order(page: Any) -> None:
    problems = page.evaluate(
        """() => { const wrong = [];
            const name = (one) => (one.getAttribute('aria-label') || one.textContent || '').trim();
            if (!document.documentElement.lang) wrong.push('no language');
            if (!document.title) wrong.push('no title');
            if (document.querySelectorAll('main').length !== 1) wrong.push('one main');
            if (document.querySelectorAll('h1').length !== 1) wrong.push('one h1');
            const named = 'button, a, summary, [role=img], [role=region], nav, [role=group]';
            for (const one of document.querySelectorAll(named))
              if (!name(one)) wrong.push('no name: ' + one.outerHTML.slice(0, 80));
            for (const one of document.querySelectorAll('table')) {
              if (!one.caption) wrong.push('no caption');
              for (const head of one.querySelectorAll('th'))
                if (!head.scope) wrong.push('no scope: ' + head.textContent); }
            let level = 1;
            for (const one of document.querySelectorAll('h1, h2, h3')) { const here = Number(one.tagName[1]);
              if (here > level + 1) wrong.push('skips a level: ' + one.textContent); level = here; }
            const ids = [...document.querySelectorAll('[id]')].map(one => one.id);
            const ours = ids.filter(one => !/^(clip|legend|topdef|cb|g[0-9a-f]{6})/.test(one));
            if (new Set(ours).size !== ours.length) wrong.push('an id is there twice');
            for (const one of document.querySelectorAll('nav a'))
              if (!document.querySelector(one.getAttribute('href'))) wrong.push('leads nowhere: ' + one.href);
            for (const one of document.querySelectorAll('[tabindex]'))
              if (one.tabIndex > 0) wrong.push('tab order forced');
            return wrong; }"""
    )
    assert problems == []


def test_the_keyboard_reaches_the_verdict_first(page: Any) -> None:
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Skip to the verdict"


def test_a_task_called_script_shows_as_such(browser: Any, tmp_path: Path, told: Tell) -> None:
    from dataclasses import replace

    from perdure.report.formats.html import html
    from perdure.report.model import report_of

    material = told(1, 1, ("keeper",), experts=False)
    name = "<script>document.title='taken'</script>"
    one = material.lives[0]
    stretches = tuple(replace(part, block=replace(part.block, task=name)) for part in one.sketch.stretches)
    renamed = replace(
        one.sketch, tasks=(name,), stretches=stretches, ranges={name: one.sketch.ranges["task00"]}, matrix=None
    )
    target = tmp_path / "hostile.html"
    target.write_text(
        html(report_of(replace(material, survey=replace(material.survey, lives=(replace(one, seen=renamed),)))))
    )
    opened = browser.new_page()
    opened.goto(target.as_uri())
    opened.wait_for_selector(".plot .main-svg")
    assert name in opened.locator("button.task").inner_text()
    opened.evaluate("Plotly.Fx.hover(document.querySelector('.plot'), [{curveNumber: 0, pointNumber: 3}])")
    assert "<script>" in " ".join(opened.locator(".hoverlayer text").all_text_contents())
    assert opened.title() != "taken"
    opened.close()
