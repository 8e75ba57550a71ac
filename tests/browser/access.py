"""What every page has to keep: WCAG 2.2 AA as far as axe can tell, and a reason beside every disabled control."""

from __future__ import annotations

from typing import Any, NamedTuple

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

# The controls that can be pressed: role, name, and number among controls of that name. Other tests cover charts.
OFFERED = """() => {
  const HELP = '[data-testid=stTooltipHoverTarget], [data-testid=stTooltipIcon]';
  const seen = {};
  const shown = (e) => e.checkVisibility({ visibilityProperty: true }) && e.getBoundingClientRect().width > 0;
  const label = (e) => e.matches('summary') && e.querySelector('[data-testid=stMarkdownContainer]')?.innerText; // its icon may change
  const name = (e) => (e.ariaLabel || label(e) || e.innerText || e.title || e.labels?.[0]?.innerText || e.closest('label')?.innerText || '').trim();
  return [...document.querySelectorAll(
    'button, a[href], summary, [role=button], [role=tab], [role=radio], [role=switch], [role=combobox], input[type=checkbox]')]
    .filter((e) => shown(e) && !e.closest('.js-plotly-plot, [data-testid=stDataFrame], [data-testid=stElementToolbar]')).map((e) => {
      const kind = e.getAttribute('role') ?? e.tagName.toLowerCase(), text = name(e), key = kind + text;
      const number = seen[key] = (seen[key] ?? -1) + 1;
      e.dataset.offered = `${kind}|${text}|${number}`;
      return {
        kind, text, number, nav: !!e.closest('.st-key-navigation, [data-testid=stLogoLink], header'),
        aside: !!e.closest('[data-testid=stSidebar]'),
        why: (e.disabled || e.ariaDisabled === 'true')
          ? e.title || e.dataset.help || (e.closest(HELP) || e.closest('[data-testid=stElementContainer]')?.querySelector(HELP) ? 'help' : '-') : '',
        chosen: e.ariaChecked === 'true' || !!e.ariaCurrent,
        href: e.getAttribute('href') ?? '',
      };
    });
}"""


class Offer(NamedTuple):
    """A control: role, name, number among equals; `why` it cannot be pressed, "-" if the page gives no reason."""

    kind: str
    text: str
    number: int
    nav: bool
    aside: bool
    chosen: bool
    why: str
    href: str

    @property
    def place(self) -> str:
        """Its place on the page."""
        return f"{self.kind}|{self.text}|{self.number}"

    @property
    def mute(self) -> bool:
        """Whether it is disabled without a reason; a number at its bound needs none."""
        return self.why == "-" and self.text not in {"Increment", "Decrement"}


def offered(visit: Visit) -> list[Offer]:
    """Returns the page's controls."""
    return [Offer(**fields) for fields in visit.page.evaluate(OFFERED)]


def mute(offers: list[Offer]) -> list[str]:
    """Returns a fault for each control that is disabled without a reason."""
    return [f"{offer.place} does not say why it cannot be pressed" for offer in offers if offer.mute]


def faults(visit: Visit, options: dict[str, Any], without: str = ".none") -> list[str]:
    """Returns axe's findings on the page at rest, except in elements with this selector."""
    for json in visit.main.get_by_test_id("stJson").all():
        expect(json.locator(".string-value").first).to_be_attached()  # its library comes late
    visit.page.wait_for_function(AT_REST)
    problems: list[str] = []
    for fault in Axe().run(visit.page, {"exclude": [[without]]}, options).response["violations"]:
        nodes = [node for node in fault["nodes"] if not visit.page.evaluate(HAS_INACTIVE, node["target"])]
        problems += [f"{fault['id']}: {node['html'][:160]}" for node in nodes]
    return problems


def in_the_dark(visit: Visit) -> list[str]:
    """Returns the faults of the dark theme's colours."""
    visit.page.emulate_media(color_scheme="dark")
    visit.page.wait_for_function("getComputedStyle(document.querySelector('.stApp')).colorScheme === 'dark'")
    visit.settled()  # the page host may run the page again for another theme, and fades redrawn elements
    problems = faults(visit, CONTRAST)
    visit.page.emulate_media(color_scheme="light")
    return problems
