// Back and Forward step between actions of the visitor: each action adds at most one address to the history, and what a page writes
// by itself replaces it. The page host writes a page's path and its query one after the other, on a busy machine the query first, at
// the path of the page that is left. After a step back a page that is still at work may write its path late: it is left out, or the
// step would be undone.

const push = history.pushState.bind(history);
const visit = { touched: false, stepped: false };
for (const kind of ["pointerdown", "keydown", "click"]) {
  document.addEventListener(kind, () => Object.assign(visit, { touched: true, stepped: false }), true);
}
addEventListener("popstate", () => Object.assign(visit, { touched: false, stepped: true }));
history.pushState = (state, title, address) => {
  if (visit.stepped && new URL(address, location).pathname !== location.pathname) return;
  (visit.touched ? push : history.replaceState.bind(history))(state, title, address);
  visit.touched = false;
};

// The first stop of the Tab key leads past the bar and the knobs: to the question where the page asks one.

const QUESTION = "[data-testid=stMain] input[aria-label='What is needed?']";
const skip = Object.assign(document.createElement("a"), { className: "wayfare-skip", href: "#", textContent: "Skip to the content" });
const goal = () => document.querySelector(QUESTION) ?? document.querySelector("[data-testid=stMainBlockContainer]");
skip.addEventListener("click", (event) => {
  event.preventDefault();
  const stop = goal();
  if (!stop?.matches("input")) stop?.setAttribute("tabindex", "-1");
  stop?.focus();
});
document.body.prepend(skip);

// The bar of groups and views. The page host draws its links; they get what screen readers need.

const BAR = ".st-key-navigation", GROUPS = ".st-key-navigation-groups";
const mark = (bar) => {
  for (const link of bar.querySelectorAll("a")) {
    if (!link.getAttribute("href")) link.setAttribute("href", "./"); // the first view
    const here = new URL(link.href).pathname === location.pathname;
    link.ariaCurrent = here ? (link.closest(GROUPS) ? "true" : "page") : null;
  }
};
const begin = (_, waiting) => {
  const bar = document.querySelector(BAR);
  if (!bar) return;
  waiting.disconnect();
  bar.role = "navigation";
  bar.ariaLabel = "Views";
  new MutationObserver(() => mark(bar)).observe(bar, { subtree: true, childList: true, attributeFilter: ["href", "class"] });
  bar.addEventListener("click", (event) => {
    // the page host would open the present view anew, without its question
    if (!event.target.closest("a")?.ariaCurrent) return;
    (event.preventDefault(), event.stopPropagation());
    visit.touched = false; // a second click on a link is no step
  }, true);
  mark(bar);
};
const waitingForBar = new MutationObserver(begin);
waitingForBar.observe(document.body, { subtree: true, childList: true });
begin([], waitingForBar);

// The page host gets a typed text a little after the press that left its field. After a link to another view it would lead back, so
// the link waits for it. Knobs see to themselves.

const LATER_MS = 150;
const typed = { field: null, leftAt: -Infinity };
const isText = (field) => field.matches?.("input:not([type=range], [type=checkbox], [type=radio]), textarea") && !field.closest(".wayfare-knobs");
document.addEventListener("input", ({ target }) => (typed.field = isText(target) ? target : null), true);
document.addEventListener("keydown", ({ key }) => key === "Enter" && (typed.field = null), true);
document.addEventListener("focusout", ({ target }) => {
  if (target === typed.field) Object.assign(typed, { field: null, leftAt: performance.now() });
}, true);
document.addEventListener("click", (event) => {
  const link = event.target.closest?.("a[href]");
  if (!link || !event.isTrusted || event.ctrlKey || event.metaKey || event.shiftKey || performance.now() - typed.leftAt > LATER_MS) return;
  (event.preventDefault(), event.stopImmediatePropagation());
  setTimeout(() => link.click(), LATER_MS);
}, true);

// A double click is one press: its second half would call, approve or remove once more.

document.addEventListener("click", (event) => {
  if (event.detail > 1 && event.target.closest?.("[data-testid=stButton]")) (event.preventDefault(), event.stopImmediatePropagation());
}, true);

// In a narrow window the knobs are folded away at first. On a phone the page host does so.

const NARROW = "(min-width: 768px) and (max-width: 1000px)";
const FOLD = "[data-testid=stSidebar]:has(.wayfare-knobs) [data-testid=stSidebarCollapseButton] button";
new MutationObserver((_, waiting) => {
  const button = document.querySelector(FOLD);
  if (!button) return;
  waiting.disconnect();
  if (matchMedia(NARROW).matches && button.ariaExpanded === "true" && !sessionStorage.wayfareFolded) button.click();
  sessionStorage.wayfareFolded = "once";
}).observe(document.body, { subtree: true, childList: true });
