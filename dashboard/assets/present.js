// Presents the live page: large, one part at a time, with the knobs at the left. Arrow keys, Page keys and Space turn, Escape ends.
// In a field or slider the arrows are its own. The step is an attribute of the document; present.css draws it.

const root = document.documentElement;
let shown = null; // the bar, while the page is presented

export default function ({ data, parentElement }) {
  const button = parentElement.querySelector(".wayfare-present-open");
  button.onclick = () => (shown ? shown.end() : present(button, data.steps));
}

function present(button, steps) {
  let place = 0;
  const made = (tag, properties, ...children) => {
    const one = Object.assign(document.createElement(tag), properties);
    one.append(...children);
    return one;
  };
  const [back, next, close] = ["← Back", "Next →", "End"].map((text) => made("button", { type: "button", textContent: text }));
  const title = made("b", { tabIndex: -1 });
  const bar = made("div", { className: "wayfare-present-bar" }, back, title, next, close);
  bar.setAttribute("role", "toolbar");
  bar.setAttribute("aria-label", "The decision, step by step");
  const turn = (to) => {
    place = Math.min(steps.length - 1, Math.max(0, to));
    const [name, said] = steps[place];
    root.dataset.present = name;
    title.textContent = `${place + 1} of ${steps.length} · ${said}`;
    back.disabled = !place;
    next.disabled = place === steps.length - 1;
    title.focus({ preventScroll: true }); // the step is read out
    partOf(name)?.scrollIntoView({ block: "center" });
  };
  const keys = (event) => {
    if (event.key === "Escape") return end();
    if (event.defaultPrevented || event.target.closest?.("input, select, textarea, [role=slider], [role=combobox]")) return;
    const by = { ArrowRight: 1, ArrowDown: 1, PageDown: 1, " ": 1, ArrowLeft: -1, ArrowUp: -1, PageUp: -1 }[event.key];
    const to = by ? place + by : { Home: 0, End: steps.length - 1 }[event.key];
    if (to === undefined || (event.key === " " && event.target.matches("button"))) return;
    event.preventDefault();
    turn(to);
  };
  const end = () => {
    document.removeEventListener("keydown", keys);
    delete root.dataset.present;
    bar.remove();
    shown = null;
    button.focus();
  };
  back.onclick = () => turn(place - 1);
  next.onclick = () => turn(place + 1);
  close.onclick = end;
  document.addEventListener("keydown", keys);
  document.body.append(bar);
  shown = { end };
  turn(0);
}

// The parts of a step: charts and texts by their key, columns and panels by the key of their container.
function partOf(name) {
  return document.querySelector(`[data-part="route:${name}"], .st-key-route-${name}`);
}
