"""The report in a real browser, opened from a file."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from perdure import report as write_report
from perdure.stats.groups import GroupedSurvey

GatherRun = Callable[..., GroupedSurvey]


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory, gather_run: GatherRun) -> tuple[Path, GroupedSurvey]:
    target = tmp_path_factory.mktemp("page") / "report.html"
    return target, write_report(Path(gather_run(3, 3).lifetimes[0].score.identity.source).parents[1], target).data


def watched(browser: Any, target: Path, **how: Any) -> Any:
    """Open the page in a tab that records its requests and errors."""
    opened = browser.new_page(**{"viewport": {"width": 1300, "height": 1000}, **how})
    opened.complaints = []
    opened.asked = []
    opened.on("console", lambda message: opened.complaints.append(message.text) if message.type == "error" else None)
    opened.on("pageerror", lambda problem: opened.complaints.append(str(problem)))
    opened.on("request", lambda request: opened.asked.append(request.url))
    opened.goto(target.as_uri())
    opened.wait_for_selector("svg.figure")
    return opened


@pytest.fixture
def page(browser: Any, written: tuple[Path, GroupedSurvey]) -> Iterator[Any]:
    opened = watched(browser, written[0])
    yield opened
    opened.close()


def unfold(page: Any) -> None:
    page.evaluate("document.querySelectorAll('details').forEach(item => { item.open = true; })")
    page.wait_for_function("() => document.querySelectorAll('details[open] .tables:empty').length === 0")


def test_it_opens_offline_without_a_request_or_a_complaint(page: Any, written: tuple[Path, GroupedSurvey]) -> None:
    unfold(page)
    for index in range(0, page.evaluate("document.body.scrollHeight"), 1500):
        page.evaluate(f"scrollTo(0, {index})")
    assert page.asked == [written[0].as_uri()]
    assert page.complaints == []


def test_the_answer_stands_on_two_screens_and_in_few_words(page: Any) -> None:
    assert page.evaluate("document.documentElement.scrollHeight") <= 2000
    assert len(page.inner_text("body").split()) <= 600
    first = page.evaluate(
        """() => ['h1', '.answer', '.better', 'table.grid', 'svg.figure']
            .map(item => document.querySelector(item).getBoundingClientRect().bottom)"""
    )
    assert max(first) <= 1000
    assert "keeper ends " in page.locator("#answer .better").first.inner_text()


def test_everything_is_readable_without_a_script(browser: Any, written: tuple[Path, GroupedSurvey]) -> None:
    context = browser.new_context(java_script_enabled=False)
    opened = context.new_page()
    opened.goto(written[0].as_uri())
    assert opened.locator("table.grid svg.tiny").count() > 5
    assert opened.locator("#answer svg.figure").count() == 2
    context.close()


def test_a_task_is_toggled_in_every_figure_by_mouse_and_by_key(page: Any) -> None:
    hidden = """() => [...document.querySelectorAll('svg [data-task="1"]')]
        .map(item => getComputedStyle(item).display === 'none')"""
    assert set(page.evaluate(hidden)) == {False}
    button = page.locator("button.task", has_text="task01")
    button.click()
    assert button.get_attribute("aria-pressed") == "false"
    assert set(page.evaluate(hidden)) == {True}
    button.press("Enter")
    assert set(page.evaluate(hidden)) == {False}


def test_pointing_at_an_evaluation_says_its_value(page: Any, written: tuple[Path, GroupedSurvey]) -> None:
    mark = page.locator("#answer svg.figure [data-task] circle").first
    mark.hover()
    texts = page.locator("#tip").inner_text()
    assert texts.startswith("task00, evaluated: ")
    means = [item.mean for life in written[1].lifetimes for item in life.seen.blocks if item.block.mode == "evaluate"]
    shown = float(texts.split(": ")[1].split(",")[0].replace("−", "-"))
    assert min(abs(shown - item) for item in means) < 1e-3


def test_pointing_at_a_curve_says_where_it_is_to_a_thousandth_of_the_axis(page: Any) -> None:
    place = page.evaluate(
        """() => { const line = document.querySelectorAll('#answer svg.figure [data-task="1"] path.line')[1];
            const at = line.getPointAtLength(line.getTotalLength() / 2).matrixTransform(line.getScreenCTM());
            const [x0, x1, xa, xb, y0, y1, ya, yb] = line.closest('.panel').dataset.frame.split(' ').map(Number);
            const own = line.getPointAtLength(line.getTotalLength() / 2);
            return [at.x, at.y, ya + (own.y / 10 - y0) / (y1 - y0) * (yb - ya), yb - ya]; }"""
    )
    page.mouse.move(place[0], place[1])
    texts = page.locator("#tip").inner_text()
    assert texts.startswith("task01, ")
    assert abs(float(texts.rpartition(": ")[2].replace("−", "-")) - place[2]) < 0.05 * place[3]


def test_pointing_at_an_answer_says_its_interval_and_its_test(page: Any) -> None:
    page.locator("table.grid tbody tr td").first.hover()
    texts = page.locator("#tip").inner_text()
    assert "final performance" in texts
    assert "95 % interval" in texts
    assert "after Holm" in texts


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 900, 1300])
def test_nothing_scrolls_sideways_and_nothing_is_cut(
    browser: Any, written: tuple[Path, GroupedSurvey], width: int, scheme: str
) -> None:
    opened = watched(browser, written[0], viewport={"width": width, "height": 844}, color_scheme=scheme)
    unfold(opened)
    assert opened.evaluate("document.documentElement.scrollWidth") == width
    cut = opened.evaluate(
        """() => [...document.querySelectorAll('main *, header *')].filter(item => {
              const box = item.getBoundingClientRect();
              return box.width && box.right > innerWidth + 1 && !item.closest('.scroll, svg');
            }).map(item => item.outerHTML.slice(0, 90))"""
    )
    assert cut == []
    small = opened.evaluate(
        """() => [...document.querySelectorAll('#answer svg.figure text')]
            .filter(item => getComputedStyle(item).display !== 'none')
            .map(item => item.getBoundingClientRect().height).filter(high => high > 0 && high < 9).length"""
    )
    assert small == 0
    opened.close()


def test_words_of_a_figure_do_not_lie_on_one_another(browser: Any, written: tuple[Path, GroupedSurvey]) -> None:
    for width in (390, 1300):
        opened = watched(browser, written[0], viewport={"width": width, "height": 900})
        unfold(opened)
        overlapping = opened.evaluate(
            """() => [...document.querySelectorAll('svg.figure')].flatMap(svg => {
                  const words = [...svg.querySelectorAll('text:not([transform])')]
                    .filter(item => getComputedStyle(item).display !== 'none' && item.textContent.length > 1)
                    .map(item => [item.textContent, item.getBoundingClientRect()]);
                  return words.flatMap(([name, a], at) => words.slice(at + 1)
                    .filter(([, b]) => Math.min(a.right, b.right) - Math.max(a.left, b.left) > 3
                      && Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > 0.5 * Math.min(a.height, b.height))
                    .map(([other]) => `${name} | ${other}`)); })"""
        )
        assert overlapping == [], width
        opened.close()


def test_it_prints_everything_and_cuts_no_table(page: Any, tmp_path: Path) -> None:
    import shutil
    import subprocess

    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert page.locator("details:not([open])").count() == 0
    page.emulate_media(media="print")
    page.set_viewport_size({"width": 718, "height": 1000})  # A4 between its margins, at 96 to the inch
    wide = page.evaluate(
        """() => [...document.querySelectorAll('table, svg.figure')]
            .filter(item => item.getBoundingClientRect().right > innerWidth + 1)
            .map(item => item.caption ? item.caption.textContent : item.getAttribute('aria-label'))"""
    )
    assert wide == []
    page.evaluate("dispatchEvent(new Event('afterprint'))")
    assert page.locator("details[open]").count() == 0
    printed = tmp_path / "report.pdf"
    printed.write_bytes(page.pdf(format="A4"))
    if shutil.which("pdftotext"):
        texts = subprocess.run(["pdftotext", str(printed), "-"], capture_output=True, text=True, check=True).stdout
        for words in ("Statement of methods", "Origin of each lifetime", "recommended contents", "keeper-2"):
            assert words in texts, words


def test_a_link_unfolds_what_it_leads_to(page: Any) -> None:
    fold = page.locator("#statistics")
    assert not fold.evaluate("item => item.open")
    page.locator("a[href='#statistics']").first.click()
    page.wait_for_selector("#statistics[open]")
    page.locator("button.unfold").click()
    assert page.locator("details.fold:not([open])").count() == 0


def test_the_table_sorts_by_a_heading_and_says_so(page: Any) -> None:
    unfold(page)
    table = page.locator("#curves table").first
    head = table.locator("th", has_text="performance_maintenance")
    column = head.evaluate("item => item.cellIndex") + 1
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
    page.locator("#curves > summary").click()
    fold = page.locator("#life-1")
    fold.locator("summary").click()
    fold.locator("svg.figure").wait_for()
    fold.locator(".tables table").first.wait_for()
    metrics, blocks = fold.locator(".tables table").all()
    assert "performance_maintenance" in metrics.locator("tbody th").all_text_contents()
    assert blocks.locator("tbody tr").count() == 15
    assert page.complaints == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_can_be_read_on_its_paper(page: Any, scheme: str) -> None:
    page.emulate_media(color_scheme=scheme)
    unfold(page)
    ratios = page.evaluate(
        """() => { const light = (text) => { const [r, g, b] = text.match(/[\\d.]+/g).map(Number)
              .map(v => v / 255).map(v => v <= .03928 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4);
              return .2126 * r + .7152 * g + .0722 * b; };
            const paper = light(getComputedStyle(document.body).backgroundColor);
            return ['p', 'a', 'th', 'td', '.chip', '.soft', 'caption', 'figcaption', 'summary',
              '.note', 'button.task', '.word', '.value', '.answer b']
              .flatMap(item => [...document.querySelectorAll(item)].slice(0, 8)).map(item => {
                const ink = light(getComputedStyle(item).color);
                const ratio = (Math.max(ink, paper) + .05) / (Math.min(ink, paper) + .05);
                return [item.tagName + '.' + item.className, ratio]; }); }"""
    )
    poor = [(name, round(ratio, 2)) for name, ratio in ratios if ratio < 4.5]
    assert not poor


def test_everything_has_a_name_a_place_and_an_order(page: Any) -> None:
    unfold(page)
    problems = page.evaluate(
        """() => { const wrong = [];
            const name = (item) => (item.getAttribute('aria-label') || item.textContent || '').trim();
            if (!document.documentElement.lang) wrong.push('no language');
            if (!document.title) wrong.push('no title');
            if (document.querySelectorAll('main').length !== 1) wrong.push('one main');
            if (document.querySelectorAll('h1').length !== 1) wrong.push('one h1');
            const named = 'button, a, summary, [role=img], [role=region], nav, [role=group]';
            for (const item of document.querySelectorAll(named))
              if (!name(item)) wrong.push('no name: ' + item.outerHTML.slice(0, 80));
            for (const item of document.querySelectorAll('table')) {
              if (!item.caption) wrong.push('no caption');
              for (const head of item.querySelectorAll('th'))
                if (!head.scope) wrong.push('no scope: ' + head.textContent); }
            let level = 1;
            for (const item of document.querySelectorAll('h1, h2, h3')) { const here = Number(item.tagName[1]);
              if (here > level + 1) wrong.push('skips a level: ' + item.textContent); level = here; }
            const ids = [...document.querySelectorAll('[id]')].map(item => item.id);
            if (new Set(ids).size !== ids.length) wrong.push('an id is there twice');
            for (const item of document.querySelectorAll('a[href^="#"]'))
              if (!document.querySelector(item.getAttribute('href'))) wrong.push('leads nowhere: ' + item.href);
            for (const item of document.querySelectorAll('[tabindex]'))
              if (item.tabIndex > 0) wrong.push('tab order forced');
            return wrong; }"""
    )
    assert problems == []


def test_the_keyboard_reaches_the_answer_first_and_every_fold(page: Any) -> None:
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Skip to the answer"
    reached = set()
    for _ in range(40):
        page.keyboard.press("Tab")
        reached.add(page.evaluate("document.activeElement.closest('details')?.id || ''"))
        shown = page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
        assert shown != "none" or page.evaluate("document.activeElement === document.body")
    assert {"curves", "statistics", "methods", "provenance"} <= reached


def test_a_screen_reader_is_told_the_grid_as_a_table(page: Any) -> None:
    grid = page.get_by_role("table", name="Learners by questions")
    asked = grid.get_by_role("columnheader").all_inner_texts()
    assert asked[0].startswith("Ends better?")
    assert len(asked) == 6
    assert grid.get_by_role("rowheader").count() == 2
    texts = grid.get_by_role("img").first.get_attribute("aria-label")
    assert "95 % interval" in texts


def test_a_task_called_script_shows_as_such(browser: Any, tmp_path: Path, gather_run: GatherRun) -> None:
    import msgspec
    from msgspec.structs import replace

    from perdure.reports.formats.html import html
    from perdure.reports.model import report_of
    from perdure.reports.thinned import thinned_lifetime

    material = gather_run(1, 1, ("keeper",), experts=False)
    name = "<script>document.title='taken'</script>"
    item = material.lifetimes[0]
    drawing = thinned_lifetime(item)
    renamed = msgspec.structs.replace(
        drawing,
        blocks=tuple(msgspec.structs.replace(block, block=replace(block.block, task=name)) for block in drawing.blocks),
        ranges={name: drawing.ranges["task00"]},
        matrix=None,
    )
    score = replace(item.score, identity=replace(item.score.identity, tasks=(name,)))
    survey = replace(material.survey, lifetimes=(replace(item, score=score, seen=renamed),))
    target = tmp_path / "hostile.html"
    target.write_text(html(report_of(GroupedSurvey(survey, material.groups))))
    opened = watched(browser, target)
    assert name in opened.locator("button.task").inner_text()
    opened.locator("#answer svg.figure circle").first.hover()
    assert "<script>" in opened.locator("#tip").inner_text()
    assert opened.title() != "taken"
    assert opened.complaints == []
    opened.close()
