// The state of the console in one line: what differs from the defaults, another window's state, undo and redo, what to compare with, and
// who decides with it. The panel of the knobs tells what is turned, and applies steps and resets, if the view has one.

let bar = null; // the one on the page
const turned = new Map(); // by prefix: the chips of a panel, newer than those of the page host while a knob is held

export default function ({ data, parentElement, setTriggerValue }) {
  const host = parentElement.querySelector(".wayfare-state");
  if (data.view !== bar?.data.view) turned.clear(); // the panels of the last view are gone
  if (host !== bar?.host) bar = build(host);
  Object.assign(bar, { data, send: (asked) => setTriggerValue("asked", asked) });
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
  const free = document.dispatchEvent(new CustomEvent(event, { detail, cancelable: true }));
  if (free) bar.send(otherwise);
}

function build(host) {
  const made = { host };
  made.all = make("div");
  made.menu = make("div");
  made.list = make("div");
  made.count = opener("", made.all, "What differs from the defaults");
  made.chips = make("div", { className: "wayfare-state-chips" });
  made.note = make("span", { className: "wayfare-state-note", role: "status" });
  made.reset = make("button", { textContent: "Reset", onclick: () => bar.send({ reset: true }) });
  made.reset.dataset.help = "Every knob back to its default. Undo brings them back.";
  made.reset.setAttribute("aria-label", "Reset all knobs");
  made.undo = make("button", { textContent: "undo", className: "wayfare-state-icon", onclick: () => go(-1) });
  made.redo = make("button", { textContent: "redo", className: "wayfare-state-icon", onclick: () => go(1) });
  made.history = opener("history", made.list, "Values of the knobs during this visit", "History of the knobs");
  made.history.classList.add("wayfare-state-icon");
  made.compare = opener("Compare with", made.menu, "What to compare this state with");
  made.used = make("span", { className: "wayfare-state-used", tabIndex: 0 });
  made.give = make("button", { textContent: "Give to agents", onclick: () => bar.send({ agents: true }) });
  host.setAttribute("role", "group");
  host.setAttribute("aria-label", "State of the console");
  const { count, chips, note, reset, undo, redo, history, compare, used, give, all, menu, list } = made;
  host.replaceChildren(count, chips, note, reset, undo, redo, history, compare, used, give, all, menu, list);
  new ResizeObserver(() => fit(made)).observe(host);
  return made;
}

function draw() {
  const { at, steps, prefix, agents, others, state } = bar.data;
  name(bar.undo, "Undo", "Ctrl-Z", steps[at - 1]);
  name(bar.redo, "Redo", "Ctrl-Y", steps[at]);
  bar.history.disabled = !steps.length;
  const rows = ["as first seen", ...steps].map((said, place) => {
    const to = () => ask("wayfare-step", { prefix, go: { to: place }, known: true }, { to: place });
    const row = make("button", { textContent: said, onclick: to });
    row.setAttribute("aria-current", place === at ? "step" : "false");
    return row;
  });
  refill(bar.list, rows.reverse());
  const beside = ([title, text]) => ["compare", "lab"].map((view) => {
    const where = view === "lab" ? "Lab" : "Compare";
    const button = make("button", { textContent: where, onclick: () => bar.send({ beside: text, view }) });
    button.setAttribute("aria-label", `${where} with ${title}`);
    return button;
  });
  refill(bar.menu, others.map((one) => make("div", { className: "wayfare-state-row" }, make("span", {}, one[0]), ...beside(one))));
  bar.used.textContent = agents.same ? "Used here and by agents" : `Used here; agents have ${agents.words}`;
  bar.used.dataset.help = agents.about;
  bar.give.hidden = agents.same;
  bar.give.dataset.help = "They decide with the knobs of this state from the next search on, also after a restart.";
  drawChips();
  drawNote();
}

function present() {
  const { fixed, knobs } = bar.data;
  const known = Object.entries(knobs).flatMap(([prefix, chips]) => {
    const now = turned.get(prefix);
    const kept = now ? chips.filter(({ name }) => !now.names.includes(name)) : chips;
    return [...kept, ...(now?.chips ?? [])].map((chip) => ({ ...chip, prefix }));
  });
  return [...fixed, ...known];
}

const words = () => present().map(({ text }) => text).join(", ") || "the defaults";

function drawChips() {
  const { data, host } = bar;
  const chips = present();
  const now = JSON.stringify([chips, data.ignored, data.preset]);
  if (now === bar.drawn) return;
  bar.drawn = now;
  const button = (said) => (chip) => {
    const drop = () => ask("wayfare-reset", chip, { drop: chip.name });
    const text = `${chip.name === "network" ? "simulated: " : ""}${chip[said]}`;
    const made = make("button", { className: "wayfare-chip", onclick: drop }, text, make("span", { ariaHidden: true }, "×"));
    const ignored = data.ignored.includes(chip.name);
    made.classList.toggle("wayfare-chip-idle", ignored);
    made.setAttribute("aria-label", `${text}: reset ${chip.about.split(":")[0]}`);
    made.dataset.help = `${chip.about}${ignored ? ". It does not count on this view." : ""}\nA click resets it.`;
    return made;
  };
  refill(bar.chips, chips.map(button("text")));
  refill(bar.all, chips.map(button("about")));
  const count = chips.length;
  const stored = JSON.stringify(data.knobs[data.prefix]) === JSON.stringify(chips.filter(({ prefix }) => prefix === data.prefix).map(({ prefix, ...chip }) => chip));
  bar.count.textContent = count ? `${data.preset && stored ? `${data.preset}: ` : ""}${count} changed` : "All at the defaults";
  bar.count.disabled = !count;
  bar.reset.hidden = !count;
  requestAnimationFrame(() => fit(bar));
}

// Hide the chips that do not fit into the line. The list has all.
function fit({ chips }) {
  const all = [...chips.children];
  for (const chip of all) chip.style.visibility = "";
  for (const chip of all) if (chip.offsetTop > all[0].offsetTop) chip.style.visibility = "hidden";
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
    const chosen = this.own || now !== "{}"; // not the defaults of a new window
    this.own = { from: this.me, now, words, at: chosen ? Date.now() : 0 };
    this.channel.postMessage(this.own);
    drawNote();
  },
};
windows.channel.onmessage = ({ data }) => {
  if (data.hello) return windows.own && windows.channel.postMessage(windows.own);
  data.left ? windows.others.delete(data.from) : windows.others.set(data.from, data);
  drawNote();
};
windows.channel.postMessage({ from: windows.me, hello: true });
addEventListener("pagehide", () => windows.channel.postMessage({ from: windows.me, left: true }));

function drawNote() {
  const { own, others } = windows;
  const newer = [...others.values()].filter(({ now, at }) => own && now !== own.now && at >= own.at);
  const other = newer.sort((one, two) => two.at - one.at)[0];
  if (!bar || bar.noted === other?.now + other?.words) return;
  bar.noted = other?.now + other?.words;
  bar.host.classList.toggle("wayfare-state-noted", Boolean(other));
  const take = () => bar.send({ take: JSON.parse(other.now) });
  bar.note.replaceChildren(...(other ? [`Another window has ${other.words}`, make("button", { textContent: "Take it", onclick: take })] : []));
  bar.note.title = bar.note.textContent;
  fit(bar);
}

function name(button, verb, keys, said) {
  button.disabled = !said;
  button.setAttribute("aria-label", said ? `${verb}: ${said}` : verb);
  button.dataset.help = `${said ? `${verb}: ${said}` : `Nothing to ${verb.toLowerCase()}`} (${keys})`;
}

// Replace the children and keep the focus near its place.
function refill(box, children) {
  const at = [...box.children].findIndex((one) => one.contains(document.activeElement));
  box.replaceChildren(...children);
  if (at >= 0) (children[Math.min(at, children.length - 1)] ?? bar.undo).focus();
}

// A button that opens a list below it.
function opener(text, list, about, label) {
  const button = make("button", { textContent: text, popoverTargetElement: list });
  button.dataset.help = about;
  if (label) button.setAttribute("aria-label", label);
  Object.assign(list, { className: "wayfare-state-list", popover: "auto" });
  list.setAttribute("aria-label", about);
  list.addEventListener("toggle", ({ newState }) => newState === "open" && place(list, button));
  return button;
}

function place(list, button) {
  const at = button.getBoundingClientRect();
  const { width, height } = list.getBoundingClientRect();
  list.style.left = `${Math.max(8, Math.min(at.left, innerWidth - width - 8))}px`;
  list.style.top = `${Math.max(8, Math.min(at.bottom + 4, innerHeight - height - 8))}px`;
}

function make(tag, properties = {}, ...children) {
  const made = Object.assign(document.createElement(tag), properties);
  made.append(...children);
  if (tag === "button") made.type = "button";
  return made;
}
