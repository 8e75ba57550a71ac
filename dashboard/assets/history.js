// Undo, redo and the steps of the visit: two buttons, a list, and the usual keys. The knob panel applies them.

export default function ({ data, parentElement }) {
  const host = parentElement.querySelector(".wayfare-history");
  host.known = data;
  if (!host.firstChild) build(host);
  draw(host);
}

document.addEventListener("keydown", (event) => {
  const host = document.querySelector(".wayfare-history");
  const by = steps(event);
  if (!host || !by || event.defaultPrevented || event.composedPath()[0].closest?.(TYPED)) return;
  event.preventDefault();
  go(host, by);
});

const TYPED = "input:not([type=range], [type=checkbox], [type=radio]), textarea, [contenteditable]";

function steps({ key, ctrlKey, metaKey, altKey, shiftKey }) {
  if (!(ctrlKey || metaKey) || altKey) return 0;
  return { z: shiftKey ? 1 : -1, y: 1 }[key.toLowerCase()] ?? 0;
}

// Move `by` steps. There may be more steps than are known here.
function go(host, by) {
  const { prefix, at, heard, steps } = host.known;
  const known = at + by >= 0 && at + by <= steps.length;
  if (known) host.children[by < 0 ? 1 : 0].disabled = false; // the other direction is possible now
  tell({ prefix, go: { step: by }, known, heard });
}

const tell = (detail) => document.dispatchEvent(new CustomEvent("wayfare-step", { detail }));

function build(host) {
  const list = make("div", { className: "wayfare-steps", popover: "auto" });
  list.setAttribute("aria-label", "Values of the knobs during this visit");
  const open = make("button", { textContent: "history", popoverTargetElement: list });
  open.title = "What the knobs were during this visit, to return to";
  open.setAttribute("aria-label", "History of the knobs");
  list.addEventListener("toggle", ({ newState }) => newState === "open" && place(list, open));
  host.append(
    make("button", { textContent: "undo", onclick: () => go(host, -1) }),
    make("button", { textContent: "redo", onclick: () => go(host, 1) }),
    open,
    list,
  );
}

function draw(host) {
  const { at, steps } = host.known;
  const [undo, redo, open, list] = host.children;
  name(undo, "Undo", "Ctrl-Z", steps[at - 1]);
  name(redo, "Redo", "Ctrl-Y", steps[at]);
  open.disabled = !steps.length;
  const rows = ["as first seen", ...steps].map((said, place) => {
    const onclick = () => tell({ prefix: host.known.prefix, go: { to: place }, known: true });
    const row = make("button", { textContent: said, onclick });
    row.setAttribute("aria-current", place === at ? "step" : "false");
    return row;
  });
  const focused = [...list.children].indexOf(document.activeElement);
  list.replaceChildren(...rows.reverse());
  list.children[focused]?.focus();
}

function name(button, verb, keys, said) {
  button.disabled = !said;
  button.setAttribute("aria-label", said ? `${verb}: ${said}` : verb);
  button.dataset.help = `${said ? `${verb}: ${said}` : `Nothing to ${verb.toLowerCase()}`} (${keys})`;
}

function place(list, button) {
  const at = button.getBoundingClientRect();
  const { width, height } = list.getBoundingClientRect();
  list.style.left = `${Math.max(8, Math.min(at.left, innerWidth - width - 8))}px`;
  list.style.top = `${Math.max(8, Math.min(at.bottom + 4, innerHeight - height - 8))}px`;
}

function make(tag, properties) {
  const made = Object.assign(document.createElement(tag), properties);
  if (tag === "button") made.type = "button";
  return made;
}
