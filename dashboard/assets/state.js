// The state of the console in one line: what differs from the defaults, another window's state, undo and redo, what to compare with, and
// who decides with it. If the view has a panel of the knobs, it tells what is turned, and applies steps and resets.

let bar = null; // the one on the page
const turned = new Map(); // by prefix: the chips of a panel, newer than those of the page host while a knob is held

export default function ({ data, parentElement, setTriggerValue }) {
  const host = parentElement.querySelector(".wayfare-state");
  if (data.view !== bar?.data.view) turned.clear(); // the panels of the last view are gone
  if (host !== bar?.host) bar = build(host);
  Object.assign(bar, { data, send: (request) => setTriggerValue("asked", request), stored: "" });
  host.inert = data.locked; // a person whose role may not turn knobs
  draw();
  windows.tell(data.state, words());
}

document.addEventListener("wayfare-differs", ({ detail }) => {
  turned.set(detail.prefix, detail);
  if (bar?.host.isConnected) drawChips();
});

document.addEventListener("keydown", (event) => {
  const by = steps(event);
  if (!bar?.host.isConnected || !by || event.defaultPrevented || event.composedPath()[0].closest?.(TYPED)) return;
  event.preventDefault();
  go(by);
});

const TYPED = "input:not([type=range], [type=checkbox], [type=radio]), textarea, [contenteditable]";

function steps({ key, ctrlKey, metaKey, altKey, shiftKey }) {
  if (!(ctrlKey || metaKey) || altKey) return 0;
  return { z: shiftKey ? 1 : -1, y: 1 }[key.toLowerCase()] ?? 0;
}

// Move `by` steps. There may be more steps than are known here.
function go(by) {
  const { prefix, at, heard, steps } = bar.data;
  const known = at + by >= 0 && at + by <= steps.length;
  if (known) (by < 0 ? bar.redo : bar.undo).disabled = false; // the other direction is possible now
  ask("wayfare-step", { prefix, go: { step: by }, known, heard }, { step: by });
}

// Ask the panel of the knobs. Without one ask the page host.
function ask(event, detail, otherwise) {
  if (document.dispatchEvent(new CustomEvent(event, { detail, cancelable: true }))) bar.send(otherwise);
}

function build(host) {
  const icon = (textContent, properties) => element("button", { textContent, className: "wayfare-state-icon", ...properties });
  const [all, past, menu] = [0, 1, 2].map(() => element("div", { className: "wayfare-state-list", popover: "auto" }));
  const parts = {
    count: opener(element("button"), all, "What differs from the defaults"),
    chips: element("div", { className: "wayfare-state-chips" }),
    note: element("span", { className: "wayfare-state-note", role: "status" }),
    reset: element("button", { textContent: "Reset", ariaLabel: "Reset all knobs", onclick: () => bar.send({ reset: true }) }),
    undo: icon("undo", { onclick: () => go(-1) }),
    redo: icon("redo", { onclick: () => go(1) }),
    history: opener(icon("history", { ariaLabel: "History" }), past, "States during this visit"),
    compare: opener(element("button", { textContent: "Compare with ▾" }), menu, "What to compare this state with"),
    used: element("span", { className: "wayfare-state-used", tabIndex: 0 }),
    give: element("button", { textContent: "Give to agents", onclick: () => bar.send({ agents: true }) }),
    all, past, menu,
  };
  menu.onclick = () => menu.hidePopover();
  host.replaceChildren(...Object.values(parts));
  new ResizeObserver(fit).observe(host);
  return { host, ...parts };
}

function draw() {
  const { at, steps, prefix, agents, others } = bar.data;
  name(bar.undo, "Undo", "Ctrl-Z", steps[at - 1]);
  name(bar.redo, "Redo", "Ctrl-Y", steps[at]);
  bar.history.disabled = !steps.length;
  const rows = ["as first seen", ...steps].map((change, place) => {
    const onclick = () => ask("wayfare-step", { prefix, go: { to: place }, known: true }, { to: place });
    return element("button", { textContent: change, ariaCurrent: place === at ? "step" : "false", onclick });
  });
  refill(bar.past, rows.reverse());
  const beside = (title, text, view) =>
    element("button", { textContent: view, ariaLabel: `${view} with ${title}`, onclick: () => bar.send({ beside: text, view }) });
  const row = ([title, text]) => element("div", {}, `${title} `, beside(title, text, "Compare"), " ", beside(title, text, "Lab"));
  refill(bar.menu, others.map(row));
  bar.used.textContent = agents.same ? "Used here and by agents" : `Used here; agents have ${agents.words}`;
  bar.used.dataset.help = bar.give.dataset.help = agents.about;
  bar.give.hidden = agents.same;
  drawChips();
  drawNote();
}

// What differs from the defaults: of each panel that is on the page what it tells, else what the page host does.
function present() {
  const turnedChips = Object.entries(bar.data.knobs).flatMap(([prefix, chips]) => {
    const { names, chips: now } = turned.get(prefix) ?? { names: [], chips: [] };
    return [...chips.filter(({ name }) => !names.includes(name)), ...now].map((chip) => ({ ...chip, prefix }));
  });
  return [...bar.data.fixed, ...turnedChips];
}

const words = () => present().map(({ text }) => text).join(", ") || "the defaults";

function drawChips() {
  const { preset, ignored } = bar.data;
  const [chips, text] = [present(), words()];
  bar.stored ||= text;
  const count = `${preset && bar.stored === text ? `${preset}: ` : ""}${chips.length} changed`;
  bar.count.textContent = chips.length ? count : "All at the defaults";
  bar.used.style.visibility = bar.stored === text ? "" : "hidden"; // it is known again when the knob is stored
  bar.count.disabled = bar.reset.hidden = !chips.length;
  const drawn = JSON.stringify([chips, ignored]);
  if (drawn === bar.drawn) return;
  bar.drawn = drawn;
  const button = (chip, text) => {
    const idle = ignored.includes(chip.name);
    const onclick = () => ask("wayfare-reset", chip, { drop: chip.name });
    const node = element("button", { className: `wayfare-chip ${idle ? "wayfare-chip-idle" : ""}`, onclick }, `${text} ×`);
    node.ariaLabel = `${text}: reset ${chip.about.split(":")[0]}`;
    node.dataset.help = `${chip.about}${idle ? ". It does not count on this view." : ""}\nA click resets it.`;
    return node;
  };
  refill(bar.chips, chips.map((chip) => button(chip, chip.text)));
  refill(bar.all, chips.map((chip) => button(chip, chip.about)));
  requestAnimationFrame(fit);
}

// Hide the chips that do not fit into the line. The list has all.
function fit() {
  const chips = [...bar.chips.children];
  const cut = chips.map(({ offsetTop }) => offsetTop > chips[0].offsetTop);
  chips.forEach((chip, place) => (chip.style.visibility = cut[place] ? "hidden" : ""));
}

// The windows of this browser tell each other their states. A window shows a newer state that differs from its own.
const windows = {
  me: Math.random().toString(36),
  channel: new BroadcastChannel("wayfare-state"),
  others: new Map(),
  own: null,
  tell(state, words) {
    const now = JSON.stringify(state);
    if (now === this.own?.now) return;
    this.own = { from: this.me, now, words, at: this.own || now !== "{}" ? Date.now() : 0 }; // a new window at the defaults is no change
    this.alive.then(() => this.channel.postMessage(this.own));
    drawNote();
  },
};
// A window holds a lock while it lives, before it tells its state: a killed window says no farewell, but its lock is free.
windows.alive = new Promise((resolve) => {
  if (!navigator.locks) resolve(); // without TLS from another machine
  navigator.locks?.request(windows.me, () => resolve() ?? new Promise(() => {}));
});
windows.channel.onmessage = ({ data }) => {
  if (data.hello) return windows.own && windows.alive.then(() => windows.channel.postMessage(windows.own));
  if (data.left) return forget(data.from);
  if (!windows.others.has(data.from)) navigator.locks?.request(data.from, () => forget(data.from)); // once that window is gone
  windows.others.set(data.from, data);
  if (bar) drawNote();
};
windows.channel.postMessage({ hello: true });
addEventListener("pagehide", () => windows.channel.postMessage({ from: windows.me, left: true }));

function forget(from) {
  windows.others.delete(from);
  if (bar) drawNote();
}

function drawNote() {
  const { own, others } = windows;
  const newer = [...others.values()].filter(({ now, at }) => own && now !== own.now && at >= own.at);
  const other = newer.sort((a, b) => b.at - a.at)[0];
  if (bar.noted === other?.at) return;
  bar.noted = other?.at;
  const take = () => element("button", { textContent: "Take it", onclick: () => bar.send({ take: JSON.parse(other.now) }) });
  bar.note.replaceChildren(...(other ? [element("span", { title: other.words }, `Another window has ${other.words}`), take()] : []));
  fit();
}

function name(button, verb, keys, change) {
  button.disabled = !change;
  button.ariaLabel = change ? `${verb}: ${change}` : verb;
  button.dataset.help = `${change ? `${verb}: ${change}` : `Nothing to ${verb.toLowerCase()}`} (${keys})`;
}

// Replace the children and keep the focus near its place.
function refill(box, children) {
  const at = [...box.children].findIndex((node) => node.contains(document.activeElement));
  box.replaceChildren(...children);
  if (at >= 0) (children[Math.min(at, children.length - 1)] ?? bar.undo).focus();
}

// Let a button open a list below it.
function opener(button, list, about) {
  button.popoverTargetElement = list;
  button.dataset.help = list.ariaLabel = about;
  list.addEventListener("toggle", ({ newState }) => {
    if (newState !== "open") return;
    const at = button.getBoundingClientRect();
    const { width, height } = list.getBoundingClientRect();
    list.style.left = `${Math.max(8, Math.min(at.left, innerWidth - width - 8))}px`;
    list.style.top = `${Math.max(8, Math.min(at.bottom + 4, innerHeight - height - 8))}px`;
  });
  return button;
}
