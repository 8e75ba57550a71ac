// Presents the live pages: large, one part at a time, with the knobs at the left. Arrow keys, Page keys and Space turn, Escape ends.
// In a field or slider the arrows are its own, and Page keys turn. A step on another view is reached as a visitor would: by the button
// Call, or by the link to Decision. The bar stays while the views change.

const root = document.documentElement;
const HOME = { route: "route:winner", call: "call:form" }; // the part that tells which view is shown
const WAYS = { route: '.st-key-navigation a[href="./"]', call: ".st-key-route-actions-call-0 button", outcome: '[class*="st-key-call-run-go"] button' };
const TICK_MS = 300;
const LONGEST_TICKS = 200;
const CALM_TICKS = 2; // the page is drawn: a press amid a redraw may be lost
const QUIET_TICKS = 30; // then nothing comes: an argument is missing

export default function ({ data, parentElement }) {
  const button = parentElement.querySelector(".wayfare-present-open");
  button.onclick = () => (window.wayfarePresent ? window.wayfarePresent() : present(data.steps));
}

function selectorOf(part) {
  return `[data-part="${part}"], .st-key-${part.replaceAll(/[^\w-]/g, "-")}`;
}

function present(steps) {
  let place = 0, waiting = null, away = 0;
  const shown = (part) => document.querySelector(selectorOf(part));
  const partOf = ({ view, part }) => shown(part || HOME[view]);
  const [back, next, close] = ["← Back", "Next →", "End"].map((text) => element("button", { type: "button", textContent: text }));
  next.title = "Page Down";
  back.title = "Page Up";
  const title = element("b", { tabIndex: -1 });
  const bar = element("div", { className: "wayfare-present-bar" }, back, title, next, close);
  bar.setAttribute("role", "toolbar");
  bar.setAttribute("aria-label", "The decision, step by step");
  const faint = element("style");
  const all = steps.filter(({ part }) => part).map(({ part }) => selectorOf(part)).join();

  // Show a step: its part in full, the other ones faint, and the focus on what it is about.
  const turn = (to) => {
    place = to;
    const { part, said } = steps[place];
    faint.textContent = part && `:is(${all}):not(${selectorOf(part)}) { opacity: 0.15; }`;
    title.textContent = `${place + 1} of ${steps.length} · ${said}`;
    back.disabled = !place;
    next.disabled = place === steps.length - 1;
    title.focus({ preventScroll: true }); // the step is read out
    partOf(steps[place])?.scrollIntoView({ block: "center" });
    aim();
  };
  // Give the focus to what the step is about, unless the visitor has put it elsewhere.
  const aim = () => {
    if (![document.body, title].includes(document.activeElement)) return;
    const goal = steps[place].focus.map((selector) => document.querySelector(selector)).find(Boolean);
    const fold = goal?.closest("details");
    if (fold) fold.open = true;
    goal?.focus({ preventScroll: true });
    goal?.scrollIntoView({ block: "center" }); // above the bar
  };
  // Go to a step. If its part is not there, press what leads to it, and wait for it. Without a way it is left out.
  const go = (to, by) => {
    const step = steps[to];
    if (!step || (waiting && by > 0)) return;
    waiting = null;
    if (partOf(step)) return turn(to);
    const way = step.view === "call" && shown(HOME.call) ? WAYS.outcome : WAYS[step.view];
    if (!document.querySelector(way)) return go(to + by, by);
    waiting = { to, way, ticks: 0, pressed: false };
    title.textContent = `${step.said} …`;
  };
  const wait = () => {
    const there = partOf(steps[waiting.to]), way = document.querySelector(waiting.way);
    const busy = document.querySelector("[data-test-script-state=running]") || way?.disabled || way?.closest("[inert]");
    if (busy && !waiting.pressed) waiting.ticks = 0;
    if (!there && !waiting.pressed && waiting.ticks === CALM_TICKS) {
      way?.click();
      Object.assign(waiting, { pressed: true, ticks: 0 });
    }
    if (!there && ++waiting.ticks < (busy ? LONGEST_TICKS : QUIET_TICKS)) return;
    const to = there ? waiting.to : place;
    waiting = null;
    turn(to);
  };
  // The visitor may go to another view by himself, and what a step is about may be drawn anew.
  const tick = () => {
    if (waiting) return wait();
    const view = Object.keys(HOME).find((view) => shown(HOME[view]));
    away = !view || partOf(steps[place]) ? 0 : away + 1;
    const here = (from) => steps.findIndex((step, at) => at >= from && step.view === view && partOf(step));
    if (away > 1) turn(Math.max(0, here(0), here(place)));
    else aim();
  };
  const keys = (event) => {
    if (event.key === "Escape") return end();
    const paging = { PageDown: 1, PageUp: -1 }[event.key];
    const own = event.target.closest?.("input, select, textarea, [role=slider], [role=combobox]");
    if (event.defaultPrevented || (own && !paging)) return;
    const by = paging ?? { ArrowRight: 1, ArrowDown: 1, " ": 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
    if (!by || (event.key === " " && event.target.matches("button, summary"))) return;
    event.preventDefault();
    event.stopPropagation();
    go(place + by, by);
  };
  const end = () => {
    document.removeEventListener("keydown", keys, true);
    clearInterval(ticking);
    delete root.dataset.present;
    delete window.wayfarePresent;
    bar.remove();
    faint.remove();
    document.querySelector(".wayfare-present-open")?.focus();
  };
  back.onclick = () => go(place - 1, -1);
  next.onclick = () => go(place + 1, 1);
  close.onclick = end;
  const ticking = setInterval(tick, TICK_MS);
  document.addEventListener("keydown", keys, true);
  document.head.append(faint);
  document.body.append(bar);
  root.dataset.present = "";
  window.wayfarePresent = end;
  turn(0);
}
