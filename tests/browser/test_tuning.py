"""Around the knobs: the scale of their tracks, presets as files, and the first minute."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import Locator, expect

from tests.browser.conftest import Visitor
from tests.browser.pages import Route
from tests.browser.serving import ConsoleProgram
from tests.browser.turning import strip_loaded
from tests.browser.visit import LIMIT_MS, Visit

pytestmark = pytest.mark.browser

AIR = "where is the Super Bowl shown in Germany"


def decided(visit: Visit, **query: object) -> Route:
    """The Route page with a decision."""
    route = Route(visit)
    visit.open("", q=AIR, **query)
    route.decided()
    return route


def at(strip: Locator, share: float) -> tuple[float, float]:
    """A place on a track."""
    box = strip.bounding_box()
    assert box is not None
    return box["x"] + box["width"] * share, box["y"] + box["height"] / 2


def test_a_knob_by_its_track_by_keys_by_typing_and_among_the_changes(console: ConsoleProgram, visitor: Visitor) -> None:
    visit = visitor(console)
    route = decided(visit)
    slider, strip = route.slider("αt"), strip_loaded(route)  # the knobs that change the winner have moved up then
    needle = route.knob("αt").locator(".wayfare-needle").bounding_box()
    assert needle is not None
    x, y = at(strip, (0.02 / 2) ** (1 / 3))
    assert needle["x"] + needle["width"] / 2 == pytest.approx(x, abs=1)
    visit.page.mouse.click(x + 3, y)  # to hold the needle is no change
    expect(slider).to_be_focused()
    assert slider.input_value() == "0.02"
    visit.page.mouse.click(*at(strip, 0.5))
    visit.until_query(alpha_t="0.25")  # 2 · 0.5³
    slider.press("ArrowLeft")
    visit.until_query(alpha_t="0.24")
    slider.press("PageUp")
    visit.until_query(alpha_t="0.34")
    row = visit.page.locator("[data-knob=wrong_refusals]")
    linear = row.get_by_role("slider")
    visit.page.mouse.click(*at(row.locator(".wayfare-strip"), 0.5))
    expect(linear).to_have_value("25")
    assert {name: linear.get_attribute(name) for name in ("min", "max")} == {"min": "0", "max": "50"}
    visit.until_query(wrong_refusals="25.0")

    # a value is typed, and an error is shown
    field = route.knob("αt").get_by_role("spinbutton")
    field.fill("3")
    expect(route.knob("αt").get_by_role("alert")).to_have_text("Give a number from 0 to 2.")
    field.fill("0.5")
    expect(route.knob("αt").get_by_role("alert")).to_have_text("")
    field.press("Enter")
    visit.until_query(alpha_t="0.5")
    cap = route.knob("B").get_by_role("spinbutton")
    for typed, stored in (("0.001", "0.001"), ("", None)):
        cap.fill(typed)
        cap.press("Enter")
        visit.until_query(alpha_t="0.5", budget_usd=stored)

    # changes are listed and reset one by one, and a search finds advanced knobs
    panel = visit.page.locator(".wayfare-knobs").filter(has=visit.page.get_by_placeholder("Find a knob"))
    visit.press("2 changed")
    changes = visit.page.get_by_label("What differs from the defaults").get_by_role("button")
    expect(changes).to_contain_text(["Wrong refusals at most: 0 → 25 %", "Time matters, αt: 0.02 → 0.5 1/s"])
    changes.last.click()
    visit.until_query(alpha_t=None, wrong_refusals="25.0")
    expect(visit.page.get_by_role("button", name="1 changed")).to_be_visible()
    visit.page.keyboard.press("Escape")
    search = panel.get_by_role("searchbox")
    search.fill("reference time")
    expect(panel.locator(".wayfare-knob:visible")).to_have_count(1)
    expect(panel.locator("[data-knob=l0_s]")).to_be_visible()
    search.press("Escape")
    expect(panel.locator("[data-knob=l0_s]")).to_be_hidden()
    expect(panel.locator("[data-knob=k]")).to_be_visible()

    # a plan takes the colours of one decision off them
    route.ask("get today's weather in Oslo, translate it into French and send it to Bo by mail")
    coloured = route.knob("κ").locator('.wayfare-strip[style*="gradient"]')
    for steps in ("Split into 3 steps", "One decision"):
        visit.show(steps)
        expect(coloured).to_have_count(int(steps == "One decision"), timeout=LIMIT_MS)
        expect(panel.locator("section")).to_have_count(int(steps == "One decision"))


def test_a_preset_is_exported_imported_or_refused_whole_and_saved_for_all_windows_until_it_is_deleted(
    console: ConsoleProgram, visitor: Visitor, tmp_path: Path
) -> None:
    visit = visitor(console)
    decided(visit, alpha_t="0.5", budget_usd="0.1")
    files = visit.page.get_by_test_id("stSidebar").get_by_test_id("stPopoverButton").first
    files.click()
    visit.fill("Name", "<b>mine</b>")
    visit.fill("Note", "for *now*")
    for _ in range(20):  # the file is that of the page's last run, which may be one field behind
        visit.settled()
        with visit.page.expect_download() as download:
            visit.press("Export")
        text = download.value.path().read_text(encoding="utf-8")
        if "for *now*" in text:
            break
    assert 'name = "<b>mine</b>"' in text
    wrong, right = tmp_path / "wrong.toml", tmp_path / "right.toml"
    wrong.write_text(text.replace("alpha_t = 0.5", "alpha_t = 0.4\nalpha_z = 1"), encoding="utf-8")
    right.write_text(text.replace("alpha_t = 0.5", "alpha_t = 0.4"), encoding="utf-8")
    upload = visit.page.locator("input[type=file]")
    upload.set_input_files(wrong)
    body = visit.page.get_by_test_id("stPopoverBody")
    visit.see("wrong.toml: [parameters] There is no parameter 'alpha_z'", within=body)
    visit.until_query(alpha_t="0.5", budget_usd="0.1")
    upload.set_input_files(right)
    visit.until_query(alpha_t="0.4", budget_usd="0.1")
    visit.page.keyboard.press("Escape")
    expect(visit.select("Preset")).to_have_value("<b>mine</b>", timeout=LIMIT_MS)
    visit.see("for *now*", within=visit.page.get_by_test_id("stSidebar"))

    save = visit.page.get_by_role("button", name="Save", exact=True)

    def named() -> bool:  # at once after it was closed, the popover has its old fields until the page has run
        visit.fill("Name", "noon")
        visit.settled()
        return save.is_visible()

    visit.settled()
    files.click()
    visit.until(named)
    save.click()
    expect(visit.select("Preset")).to_have_value("noon", timeout=LIMIT_MS)
    other = visitor(console)
    decided(other, alpha_t="0.4", budget_usd="0.1")
    expect(other.select("Preset")).to_have_value("<b>mine</b>", timeout=LIMIT_MS)
    for name in ("noon", "<b>mine</b>"):
        visit.press(f"Delete {name}")
    expect(visit.select("Preset")).to_have_value("Your own", timeout=LIMIT_MS)


def test_a_gesture_is_one_step_that_is_undone_redone_and_returned_to(console: ConsoleProgram, visitor: Visitor) -> None:
    visit = visitor(console)
    route = decided(visit)
    keys, slider, undo = visit.page.keyboard, route.slider("αt"), visit.page.get_by_role("button", name="Undo")
    headline = route.headline()
    expect(undo).to_be_disabled()
    slider.focus()
    for _ in range(6):
        keys.down("ArrowRight")
    keys.up("ArrowRight")
    visit.until_query(alpha_t="0.08")
    route.slider("κ").press("End")
    visit.until_query(kappa="1000.0")
    keys.press("Control+z")
    visit.until_query(alpha_t="0.08", kappa=None)
    expect(undo).to_have_accessible_name("Undo: αt 0.02 → 0.08 1/s")
    undo.click()
    visit.until_query(alpha_t=None, kappa=None)
    route.decided()
    assert route.headline() == headline
    keys.press("Control+Shift+z")
    visit.until_query(alpha_t="0.08", kappa=None)
    keys.press("Control+y")
    visit.until_query(alpha_t="0.08", kappa="1000.0")

    # a busy page loses no press
    for key in "zzyzyy":
        keys.press(f"Control+{key}")
    visit.until_query(alpha_t="0.08", kappa="1000.0")
    for key in "zzzy":
        keys.press(f"Control+{key}")
    expect(undo).to_have_accessible_name("Undo: αt 0.02 → 0.08 1/s")
    visit.until_query(alpha_t="0.08", kappa=None)
    keys.press("Control+y")
    visit.until_query(alpha_t="0.08", kappa="1000.0")

    # an unstored change is a step, too, and its drawing goes
    slider.focus()
    keys.press("End")
    keys.press("Control+z")
    expect(slider).to_have_value("0.08", timeout=LIMIT_MS)
    visit.press("History")
    steps = visit.page.get_by_label("States during this visit").get_by_role("button")
    expect(steps).to_have_text(["αt 0.08 → 2 1/s", "κ 100 → 1000 s/$", "αt 0.02 → 0.08 1/s", "as first seen"])
    steps.last.click()
    visit.until_query(alpha_t=None, kappa=None)
    route.decided()
    assert route.headline() == headline
