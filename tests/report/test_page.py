"""The page in a real browser, offline: what a reader can do there changes what is shown."""

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from leads.cli import main

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
FLAGS = (
    *("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
)

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no Chromium is installed")


@pytest.fixture(scope="module")
def browser() -> Iterator:
    api = pytest.importorskip("playwright.sync_api", reason="playwright, of the dev extra, is not installed")
    with api.sync_playwright() as playwright, tempfile.TemporaryDirectory() as profile:
        context = playwright.chromium.launch_persistent_context(
            profile, executable_path=CHROMIUM, headless=True, args=FLAGS, offline=True
        )
        yield context
        context.close()


@pytest.fixture
def page(browser, report) -> Iterator:
    """The page as it opens; nothing may be asked of the network or complained of."""
    page, complaints = browser.new_page(), []
    page.on("console", lambda said: complaints.append(said.text) if said.type in ("error", "warning") else None)
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("request", lambda asked: complaints.append(asked.url) if asked.url.startswith("http") else None)
    page.set_viewport_size({"width": 1200, "height": 900})
    page.goto((report / "index.html").as_uri())
    page.locator("#epoch-read:not(:empty)").wait_for()
    yield page
    assert complaints == []
    page.close()


def pixels(page) -> str:
    return page.evaluate("document.getElementById('canvas').toDataURL()")


def lines(page, plot: str) -> list[str]:
    return page.eval_on_selector_all(f"#{plot} polyline", "all => all.map(line => line.dataset.title)")


def column(page, table: str, number: int) -> list[str]:
    return page.eval_on_selector_all(
        f"#table-{table} tbody tr", f"all => all.map(row => row.cells[{number}].innerText)"
    )


def test_summary_comes_first_and_all_parts_are_there(page):
    assert page.inner_text("section:first-of-type h2") == "Summary"
    assert "maze-u: highest coverage 89.7 ± 1.5 % (LEADS)" in page.inner_text("#summary")
    assert page.locator("section").count() == 5 and page.locator("table").count() == 6


def test_heads_sort_and_what_is_missing_stays_last(page):
    head = page.locator("#table-numbers th", has_text="relative coverage")
    for order, sign in (("ascending", 1), ("descending", -1)):
        head.locator("button").click()
        assert head.get_attribute("aria-sort") == order
        shown = column(page, "numbers", 6)
        known = [float(text.split()[0]) for text in shown if text != "missing"]
        assert known == sorted(known, key=lambda value: sign * value) and len(known) == 10
        assert set(shown[len(known) :]) == {"missing"}
    page.locator("#table-numbers th button").first.click()
    assert column(page, "numbers", 0) == sorted(column(page, "numbers", 0))


def test_methods_are_toggled_in_the_curves(page):
    assert lines(page, "curve-plot") == ["LEADS", "METRA", "control", "control (noise white)"]
    assert page.locator("#curve-plot .published").count() == 2
    metra = page.locator("#curve-methods button", has_text="METRA")
    metra.click()
    assert metra.get_attribute("aria-pressed") == "false"
    assert lines(page, "curve-plot") == ["LEADS", "control", "control (noise white)"]
    metra.press("Enter")
    assert "METRA" in lines(page, "curve-plot")
    page.select_option("#curve-setting", label="fetch-slide")
    assert lines(page, "curve-plot") == ["LEADS", "control"]
    before = page.inner_html("#curve-plot")
    page.select_option("#curve-number", "distinctness")
    assert page.inner_html("#curve-plot") != before and page.locator("#curve-plot .published").count() == 0


def test_a_pointer_reads_the_curves(page):
    page.locator("#curve-plot svg").scroll_into_view_if_needed()
    box = page.locator("#curve-plot svg").bounding_box()
    page.mouse.move(box["x"] + box["width"] - 25, box["y"] + 100)
    said = page.inner_text("#curve-read")
    assert said.startswith("samples ") and "LEADS 89.7" in said


def test_the_slider_shows_how_skills_spread(page):
    slider = page.locator("#epoch")
    assert slider.get_attribute("max") == "2" and "epoch 10, 1,000,000 samples" in page.inner_text("#epoch-read")
    last = pixels(page)
    slider.fill("0")
    assert "epoch 1, 100,000 samples: coverage" in page.inner_text("#epoch-read")
    first = pixels(page)
    assert first != last
    slider.press("ArrowRight")
    assert "epoch 3" in page.inner_text("#epoch-read") and pixels(page) not in (first, last)


def test_play_goes_through_all_epochs_and_stops(page):
    page.click("#play")
    assert page.inner_text("#play") == "Stop" and "epoch 1," in page.inner_text("#epoch-read")
    page.locator("#play", has_text="Play").wait_for()
    assert "epoch 10" in page.inner_text("#epoch-read")


def test_skills_are_toggled(page):
    before = pixels(page)
    buttons = page.locator("#skills button")
    assert buttons.count() == 6
    buttons.nth(2).click()
    assert pixels(page) != before
    buttons.nth(2).click()
    page.mouse.move(0, 0)
    assert pixels(page) == before


def test_task_method_and_seed_are_chosen(page):
    before = pixels(page)
    assert page.eval_on_selector_all("#seed option", "all => all.map(o => o.text)") == ["0", "1 (median)", "2 (best)"]
    assert page.locator("#seed option:checked").inner_text() == "2 (best)"
    page.select_option("#seed", label="0")
    page.wait_for_timeout(200)
    other = pixels(page)
    assert other != before
    page.select_option("#method", label="control (noise white)")
    page.wait_for_timeout(200)
    assert pixels(page) not in (before, other)
    page.select_option("#task", label="fetch-slide")
    page.wait_for_timeout(200)
    assert page.eval_on_selector_all("#method option", "all => all.map(o => o.text)") == ["LEADS", "control"]
    assert page.locator("#film").is_visible() and page.locator("#no-film").is_hidden()
    page.locator("#film").evaluate("film => film.readyState || new Promise(done => film.onloadedmetadata = done)")
    assert page.locator("#film").evaluate("film => film.videoWidth") == 32
    page.select_option("#method", label="control")
    page.wait_for_timeout(200)
    assert page.locator("#film").is_hidden() and page.locator("#no-film").is_visible()


def test_pointing_at_a_path_tells_its_skill_and_time(page):
    page.locator("#canvas").scroll_into_view_if_needed()
    box = page.locator("#canvas").bounding_box()
    page.mouse.move(box["x"] + box["width"] / 4, box["y"] + box["height"] * 3 / 4)
    assert page.inner_text("#canvas-read").startswith("skill ") and " of 50: x -0.5" in page.inner_text("#canvas-read")
    page.mouse.move(box["x"] + box["width"] - 12, box["y"] + 12)
    assert page.inner_text("#canvas-read").startswith("Circle: start.")


def test_everything_can_be_reached_and_used_by_keyboard(page):
    reached = []
    page.keyboard.press("Tab")
    for _ in range(120):
        reached.append(page.evaluate("document.activeElement.id || document.activeElement.tagName"))
        page.keyboard.press("Tab")
    wanted = {"curve-setting", "curve-number", "task", "method", "seed", "show", "epoch", "play", "canvas"}
    assert wanted | {"profile-number", "table-table1", "table-cost"} <= set(reached)
    page.focus("#canvas")
    page.keyboard.press("ArrowRight")
    assert page.inner_text("#canvas-read").startswith("skill 0, episode 0, step 50 of 50")
    page.keyboard.press("ArrowLeft")
    assert "step 49 of 50" in page.inner_text("#canvas-read")
    page.keyboard.press("ArrowDown")
    assert page.inner_text("#canvas-read").startswith("skill 0, episode 1, step 49 of 50")


def test_it_fits_a_phone(page):
    page.set_viewport_size({"width": 375, "height": 800})
    page.wait_for_timeout(300)
    assert page.evaluate("document.documentElement.scrollWidth") == 375
    for name in ("#canvas", "#curve-plot svg", "#profile-plot svg"):
        box = page.locator(name).bounding_box()
        assert box["x"] >= 0 and box["x"] + box["width"] <= 375 and box["width"] > 300
    small = page.eval_on_selector_all(
        "button:not(th button)", "all => all.filter(b => b.offsetParent && b.offsetHeight < 28).length"
    )
    assert small == 0


def test_maps_of_a_trained_run(browser, tiny_run, tmp_path):
    runs = Path(shutil.copytree(tiny_run, tmp_path / "runs" / "one")).parent
    main(["report", str(runs), "--out", str(tmp_path / "report")])
    page = browser.new_page()
    page.goto((tmp_path / "report" / "index.html").as_uri())
    page.locator("#epoch-read:not(:empty)").wait_for()
    shown = {pixels(page)}
    for kind in ("measure", "uncertainty"):
        page.select_option("#show", kind)
        assert not page.locator("#epoch-choice").is_visible()
        shown.add(pixels(page))
    assert len(shown) == 3
    page.close()
