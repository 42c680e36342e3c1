"""The page in a real browser, offline: what a reader can do there changes what is shown."""

import base64
import gzip
import json
import re
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from leads.cli import main
from leads.report.study.page import _rounded

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
        context.set_default_timeout(180_000)  # ms; on a busy machine a page takes its time
        yield context
        context.close()


@contextmanager
def opened(browser, report: Path) -> Iterator:
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


@pytest.fixture
def page(browser, report) -> Iterator:
    with opened(browser, report) as page:
        yield page


def choose(page, **choices: str) -> None:
    """Chooses in the explorer, and waits until the run is shown."""
    for name, label in choices.items():
        before = pixels(page)
        page.select_option(f"#{name}", label=label)
        page.wait_for_function("before => document.getElementById('canvas').toDataURL() !== before", arg=before)


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
    assert "Is LEADS the best? Highest fine coverage in" in page.inner_text("#summary")
    assert column(page, "first", 1)[0] == "89.7 ± 1.5: LEADS" and page.locator("#summary table").count() == 2
    assert page.locator("section").count() == 5 and page.locator("table").count() == 8


def test_heads_sort_and_what_is_missing_stays_last(page):
    head = page.locator("#table-numbers th", has_text="relative coverage")
    for order, sign in (("ascending", 1), ("descending", -1)):
        head.locator("button").click()
        assert head.get_attribute("aria-sort") == order
        shown = column(page, "numbers", 7)
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
    assert page.get_attribute("#curve-read", "aria-live") == "off"
    page.mouse.move(box["x"] + 60, box["y"] + 100)
    assert page.inner_text("#curve-read").startswith("samples 100k: LEADS 67.3")
    page.mouse.move(box["x"] + 60, box["y"] - 20)
    assert page.inner_text("#curve-read").startswith("Point at the plot")


def test_keys_read_curves_and_profiles(page):
    curves = page.locator("#curve-plot svg")
    assert curves.get_attribute("tabindex") == "0" and "against samples on maze-u" in curves.get_attribute("aria-label")
    curves.press("ArrowRight")
    assert page.inner_text("#curve-read").startswith("samples 100k: LEADS 67.3")
    assert page.get_attribute("#curve-read", "aria-live") == "polite"
    curves.press("End")
    assert page.inner_text("#curve-read").startswith("samples 1M: LEADS 89.7")
    curves.press("ArrowRight")
    assert page.inner_text("#curve-read").startswith("samples 1M")
    curves.press("ArrowLeft")
    assert page.inner_text("#curve-read").startswith("samples 982k")
    curves.press("Home")
    assert page.inner_text("#curve-read").startswith("samples 100k")
    page.locator("#curve-methods button", has_text="LEADS").click()
    assert page.inner_text("#curve-read").startswith("samples 100k: METRA")
    profiles = page.locator("#profile-plot svg")
    profiles.press("ArrowLeft")
    assert page.inner_text("#profile-read").startswith("relative coverage 1: LEADS 0.00")
    profiles.press("ArrowLeft")
    assert page.inner_text("#profile-read").startswith("relative coverage 0.98: LEADS 0.")


def test_a_tap_reads_plots_and_paths_and_what_it_tells_stays(page):
    touch = page.context.new_cdp_session(page)
    touch.send("Emulation.setTouchEmulationEnabled", {"enabled": True})
    told = {"curve-plot svg": "samples ", "profile-plot svg": "relative coverage ", "canvas": "skill "}
    for name, said in told.items():
        picture, read = f"#{name}", f"#{name.split('-')[0]}-read"
        page.locator(picture).scroll_into_view_if_needed()
        box = page.locator(picture).bounding_box()
        place = {"x": box["x"] + box["width"] / 4, "y": box["y"] + box["height"] * 3 / 4}
        touch.send("Input.dispatchTouchEvent", {"type": "touchStart", "touchPoints": [place]})
        touch.send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})
        page.wait_for_timeout(100)
        assert page.inner_text(read).startswith(said)
        assert page.get_attribute(read, "aria-live") == "off"


def test_lines_and_their_buttons_have_the_same_dashes(page):
    look = "all => all.map(line => [line.getAttribute('stroke'), line.getAttribute('stroke-dasharray')])"
    for name in ("curve", "profile"):
        drawn = page.eval_on_selector_all(f"#{name}-plot polyline", look)
        buttons = page.eval_on_selector_all(f"#{name}-methods button:not([hidden]) line", look)
        assert [colour for colour, _ in drawn] == [colour for colour, _ in buttons]
        assert [len(dash.split()) for _, dash in drawn] == [len(dash.split()) for _, dash in buttons] == [1, 2, 2, 4]
        assert drawn[0][1] == "none" and drawn[2][0] == drawn[3][0] != drawn[1][0]
    assert "differ in their dashes" in page.inner_text("#curves")


def test_buttons_tell_of_how_much_a_line_is(page):
    shown = lambda name: page.locator(f"#{name}-methods button:visible").all_inner_texts()
    assert shown("curve") == ["LEADS, n = 3", "METRA, n = 3", "control, n = 3", "control (noise white), n = 3"]
    page.select_option("#curve-setting", label="maze-u, 300k samples")
    assert shown("curve") == ["LEADS, n = 1"]
    assert shown("profile")[:2] == ["LEADS, 3 of 3 settings", "METRA, 2 of 3 settings"]
    assert "cannot be compared" in page.inner_text("#profiles")


def test_data_is_strict_json(report):
    def refuse(constant: str) -> None:
        raise AssertionError(constant)

    html = (report / "index.html").read_text()
    packed = re.findall(r'id="run-\d+">(.*?)</script>', html)
    texts = [gzip.decompress(base64.b64decode(text)).decode() for text in packed]
    texts += re.findall(r'id="data">(.*?)</script>', html)
    assert len(texts) > 20
    for text in texts:
        json.loads(text, parse_constant=refuse)
    assert _rounded(float("nan")) is None and _rounded(float("inf")) is None and _rounded(0.123456) == 0.12346


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
    read = "document.querySelector('#epoch-read')"
    page.evaluate(f"""window.told = [];
        new MutationObserver(() => told.push({read}.textContent)).observe({read}, {{childList: true}})""")
    page.click("#play")
    page.locator("#play", has_text="Play").wait_for()
    assert [text.split(",")[0] for text in page.evaluate("told")] == ["epoch 1", "epoch 3", "epoch 10"]


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
    choose(page, seed="0")
    other = pixels(page)
    choose(page, method="control (noise white)")
    assert pixels(page) not in (before, other)
    choose(page, task="fetch-slide")
    assert page.eval_on_selector_all("#method option", "all => all.map(o => o.text)") == ["LEADS", "control"]
    assert page.locator("#film").is_visible() and page.locator("#no-film").is_hidden()
    page.locator("#film").evaluate("film => film.readyState || new Promise(done => film.onloadedmetadata = done)")
    assert page.locator("#film").evaluate("film => film.videoWidth") == 32
    choose(page, method="control")
    assert page.locator("#film").is_hidden() and page.locator("#no-film").is_visible()
    assert page.inner_text("#no-film").endswith("without its checkpoints none can be made.")
    choose(page, seed="0")
    assert page.inner_text("#no-film") == "Films are shown of the best and the median seed."


def test_pointing_at_a_path_tells_its_skill_and_time(page):
    page.locator("#canvas").scroll_into_view_if_needed()
    box = page.locator("#canvas").bounding_box()
    page.mouse.move(box["x"] + box["width"] / 4, box["y"] + box["height"] * 3 / 4)
    assert page.inner_text("#canvas-read").startswith("skill ") and " of 50: x -0.5" in page.inner_text("#canvas-read")
    page.mouse.move(box["x"] + box["width"] - 12, box["y"] + 12)
    assert page.inner_text("#canvas-read").startswith("Circle: start.")
    assert page.get_attribute("#canvas", "role") == "application"
    assert "arrow keys" in page.get_attribute("#canvas", "aria-label")


def count_drawings(page) -> None:
    """From now on `drawings(page)` says how often the canvas was drawn anew."""
    page.evaluate("""() => {
        window.drawings = 0;
        const set = CanvasRenderingContext2D.prototype.setTransform;
        CanvasRenderingContext2D.prototype.setTransform = function (...to) { window.drawings++; set.apply(this, to); };
    }""")


def drawings(page) -> int:
    return page.evaluate("window.drawings")


def test_the_canvas_is_drawn_anew_only_if_the_cursor_goes_elsewhere(page):
    page.locator("#canvas").scroll_into_view_if_needed()
    box = page.locator("#canvas").bounding_box()
    count_drawings(page)
    for step in range(5):
        page.mouse.move(box["x"] + box["width"] - 12 - step, box["y"] + 12)
    assert drawings(page) == 0
    page.mouse.move(box["x"] + box["width"] / 4, box["y"] + box["height"] * 3 / 4)
    assert drawings(page) == 1 and page.get_attribute("#canvas-read", "aria-live") == "off"
    page.mouse.move(0, 0)
    assert drawings(page) == 2


def test_everything_can_be_reached_and_used_by_keyboard(page):
    reached = []
    page.keyboard.press("Tab")
    for _ in range(120):
        reached.append(page.evaluate("document.activeElement.id || document.activeElement.tagName"))
        page.keyboard.press("Tab")
    wanted = {"curve-setting", "curve-number", "task", "method", "seed", "show", "epoch", "play", "canvas", "svg"}
    assert wanted | {"profile-number", "table-table1", "table-cost"} <= set(reached)
    page.focus("#canvas")
    page.keyboard.press("ArrowRight")
    assert page.inner_text("#canvas-read").startswith("skill 0, episode 0, step 50 of 50")
    assert page.get_attribute("#canvas-read", "aria-live") == "polite"
    page.keyboard.press("ArrowLeft")
    assert "step 49 of 50" in page.inner_text("#canvas-read")
    page.keyboard.press("ArrowDown")
    assert page.inner_text("#canvas-read").startswith("skill 0, episode 1, step 49 of 50")


def test_more_than_ten_skills_are_gone_through_in_their_order(browser, write_run, tmp_path):
    write_run(tmp_path / "runs", "maze-u", n_skill=12)
    main(["report", str(tmp_path / "runs"), "--out", str(tmp_path / "report")])
    with opened(browser, tmp_path / "report") as page:
        page.focus("#canvas")
        page.keyboard.press("ArrowRight")
        told = []
        for _ in range(15):
            told.append(int(page.inner_text("#canvas-read").split()[1].strip(",")))
            page.keyboard.press("ArrowDown")
        assert told == [skill for skill in range(3) for _ in range(5)]
        page.keyboard.press("Alt+ArrowDown")
        assert page.inner_text("#canvas-read").startswith("skill 3, episode 0")


def test_choosing_a_map_ends_the_play(page):
    page.click("#play")
    assert page.inner_text("#play") == "Stop"
    page.evaluate("document.getElementById('show').dispatchEvent(new Event('change'))")
    assert page.inner_text("#play") == "Play"


def test_what_names_a_row_stays_in_sight(page):
    page.set_viewport_size({"width": 375, "height": 800})
    for table, named in (("table1", "LEADS"), ("numbers", "LEADS"), ("tests", "METRA")):
        page.locator(f"#table-{table}").evaluate("table => table.scrollLeft = 300")
        name = page.locator(f"#table-{table} tbody th", has_text=named).first
        assert name.get_attribute("scope") == "row"
        box = name.bounding_box()
        assert 0 <= box["x"] < 40 and box["x"] + box["width"] < 375


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
    with opened(browser, tmp_path / "report") as page:
        shown = {pixels(page)}
        for kind in ("measure", "uncertainty"):
            page.select_option("#show", kind)
            assert not page.locator("#epoch-choice").is_visible()
            shown.add(pixels(page))
        assert len(shown) == 3
        page.locator("#canvas").scroll_into_view_if_needed()
        count_drawings(page)
        box = page.locator("#canvas").bounding_box()
        for step in range(5):
            page.mouse.move(box["x"] + 50 + 10 * step, box["y"] + 50)
        assert drawings(page) == 0
