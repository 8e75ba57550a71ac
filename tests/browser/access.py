"""What every page has to keep: WCAG 2.2 AA as far as axe can tell, and a reason beside whatever cannot be pressed."""

from __future__ import annotations

from typing import Any

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import expect

from .visit import Visit

RULES = {
    "resultTypes": ["violations"],
    "runOnly": {"type": "tag", "values": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"]},
}
CONTRAST = {**RULES, "runOnly": ["color-contrast"]}
INACTIVE = "[disabled], [aria-disabled=true], [data-disabled]"  # exempt (1.4.3)
HAS_INACTIVE = f"([...target]) => !!document.querySelector(target.join(' '))?.closest('[data-testid=stElementContainer]')?.querySelector('{INACTIVE}')"
AT_REST = "document.getAnimations().every(one => one.playState !== 'running' || one.effect.getComputedTiming().endTime === Infinity)"

# What cannot be pressed and does not say why, by what it is and what it is called. Charts have tests of their own; a number at its bound
# speaks for itself.
MUTE = """() => {
  const HELP = '[data-testid=stTooltipHoverTarget], [data-testid=stTooltipIcon]';
  const shown = (e) => e.checkVisibility({ visibilityProperty: true }) && e.getBoundingClientRect().width > 0;
  const name = (e) => (e.ariaLabel || e.innerText || e.title || e.labels?.[0]?.innerText || e.closest('label')?.innerText || '').trim();
  const told = (e) => e.title || e.dataset.help || e.closest(HELP) || e.closest('[data-testid=stElementContainer]')?.querySelector(HELP);
  return [...document.querySelectorAll(
    'button, a[href], summary, [role=button], [role=tab], [role=radio], [role=switch], [role=combobox], input[type=checkbox]')]
    .filter((e) => (e.disabled || e.ariaDisabled === 'true') && shown(e) && !told(e))
    .filter((e) => !e.closest('.js-plotly-plot, [data-testid=stDataFrame], [data-testid=stElementToolbar]'))
    .filter((e) => !['Increment', 'Decrement'].includes(name(e)))
    .map((e) => `${e.getAttribute('role') ?? e.tagName.toLowerCase()} ${name(e)} does not say why it cannot be pressed`);
}"""


def mute(visit: Visit) -> list[str]:
    """Returns a fault for each control that cannot be pressed now and does not say why."""
    return visit.page.evaluate(MUTE)


def faults(visit: Visit, options: dict[str, Any], without: str = ".none") -> list[str]:
    """Returns what axe finds on the page at rest, except in elements with this selector."""
    for json in visit.main.get_by_test_id("stJson").all():
        expect(json.locator(".string-value").first).to_be_attached()  # its library comes late
    visit.page.wait_for_function(AT_REST)
    found: list[str] = []
    for fault in Axe().run(visit.page, {"exclude": [[without]]}, options).response["violations"]:
        nodes = [node for node in fault["nodes"] if not visit.page.evaluate(HAS_INACTIVE, node["target"])]
        found += [f"{fault['id']}: {node['html'][:160]}" for node in nodes]
    return found


def in_the_dark(visit: Visit) -> list[str]:
    """Returns the faults of the dark theme: a theme is colours alone."""
    visit.page.emulate_media(color_scheme="dark")
    visit.page.wait_for_function("getComputedStyle(document.querySelector('.stApp')).colorScheme === 'dark'")
    visit.settled()  # the page host may run the page again for another theme, and fades what it draws anew
    found = faults(visit, CONTRAST)
    visit.page.emulate_media(color_scheme="light")
    return found
