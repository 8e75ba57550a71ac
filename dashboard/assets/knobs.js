// The knobs: sliders, fields and switches by group. A turned knob changes at once, asks the fast lane, and after a pause is
// sent to the page host, which stores it. `control` makes one knob; `Lane` asks.

const panels = new Map(); // by their element
const ranked = new Map(); // by prefix: a question and the names of the knobs that stand first, for when the view is drawn again
const FEW = 4;
const MOST_NEAR = 4;
const UNHEARD_MS = 5000; // then a message is sent again; the time doubles
const SENT_MS = 150; // the page host's script has sent a message by then, also on a busy machine

export default function ({ data, parentElement, setTriggerValue }) {
  const host = parentElement.querySelector(".wayfare-knobs");
  const panel = panels.get(host) ?? new Panel(host);
  panels.set(host, panel);
  panel.post = (messages) => setTriggerValue("turned", messages);
  panel.take(data);
  return () => host.isConnected || panels.delete(host);
}

class Panel {
  constructor(host) {
    this.host = host;
    this.controls = new Map(); // by name
    this.turned = new Map(); // values that were not sent to the page host yet
    this.told = []; // unconfirmed messages: a newer one may replace an older one, so all of them are sent
    this.count = 0; // of messages
    this.trial = {}; // the value that a story shows; it is never sent to the page host
    this.held = false; // a key or the pointer is down
    this.lane = new Lane(this);
    document.addEventListener("wayfare-shown", ({ detail }) => {
      if (!this.host.isConnected) return;
      if (detail === SCORE || detail === this.data.shows) this.lane.score(); // it needs both, and either may come last
      if (detail !== this.data.shows) return;
      this.lane.forget();
      strips.refresh(this);
    });
    host.addEventListener("focusin", () => this.lane.foreseeSoon());
    for (const [kind, act] of [["wayfare-step", this.step], ["wayfare-reset", this.reset]]) {
      document.addEventListener(kind, (event) => {
        const { prefix, name } = event.detail;
        if (this.data.locked || !this.host.isConnected || prefix !== this.data.prefix || (name && !this.controls.has(name))) return;
        event.preventDefault(); // the page host is not asked
        act.call(this, event.detail);
      });
    }
    document.addEventListener("click", (event) => this.pressedElsewhere(event), true);
    document.addEventListener("wayfare-try", ({ detail }) => this.data.locked || this.try(detail));
    document.addEventListener("wayfare-turn", ({ detail }) => this.data.locked || this.turnTo(detail));
  }

  // Take the data of the page host: the knobs, their values, and the number of confirmed messages.
  take(data) {
    const shape = JSON.stringify([data.groups, data.plays]);
    const before = this.data && this.values();
    this.data = data;
    if (shape !== this.shape) this.build(data.groups);
    this.shape = shape;
    const [question, names] = (data.at && ranked.get(data.prefix)) || [null, []];
    if (question !== this.question) this.putFirst(question, names);
    this.host.inert = data.locked; // a person whose role may not turn knobs
    this.count = Math.max(this.count, data.heard);
    this.told = this.told.filter(({ count }) => count > data.heard);
    if (!this.told.length) clearTimeout(this.again);
    const values = this.values();
    if (Object.entries(values).some(([name, value]) => before?.[name] !== value)) {
      this.lane.epoch += 1; // set by something else: a reset, a preset, a link
      this.drawnOnTheWay ||= Boolean(before); // the page host draws no part again that is as it drew it before the lane did
      this.winner = "";
    }
    for (const [name, control] of this.controls) {
      if (name !== this.wrong) control.show(values[name] ?? null);
    }
    const latest = this.controls.get(this.latest);
    latest?.readOut(this.winner);
    if (latest?.row.contains(document.activeElement)) keepInSight(data.chart, latest.row);
    this.mark();
    this.say(data.said);
    if (!this.turned.size && !this.told.length) {
      ahead(false, data.waits);
      const { waiting } = this;
      this.waiting = null;
      if (waiting) setTimeout(() => buttonAt(waiting)?.click(), SOON_MS);
      if (this.drawnOnTheWay && this.lane.open) this.lane.ask();
      this.drawnOnTheWay = false;
      this.lane.score();
      this.lane.foreseeSoon();
    }
    strips.refresh(this);
  }

  build(groups) {
    this.controls.clear();
    this.wrong = "";
    this.status = element("div", { className: "wayfare-unseen", role: "status" });
    this.homes = groups.map((group) => {
      const inside = group.parts.flatMap(({ title, knobs }) => [
        ...(title ? [element("div", { className: "wayfare-part-title", textContent: title })] : []),
        ...knobs.map((spec) => this.made(spec)),
      ]);
      const summary = element("summary", {}, group.title, element("span", { className: "wayfare-changed" }));
      const fold = element("details", { className: "wayfare-group", open: group.open }, summary, ...inside);
      return { fold, inside };
    });
    const folds = this.homes.map(({ fold }) => fold);
    this.near = element("section", { className: "wayfare-group" }, element("div", { className: "wayfare-part-title" }));
    const few = this.controls.size < FEW; // all are in sight
    this.host.replaceChildren(...(few ? [] : [searchField(this, folds)]), ...folds, this.status);
    this.question = null; // whose knobs stand first
  }

  made(spec) {
    const knob = control(spec, this);
    this.controls.set(spec.name, knob);
    return knob.row;
  }

  // The strips of a question are there, or it is null and there are none. A knob that changes nothing of the decision is faint. Those that
  // change the winner stand first until another question is decided, and while a knob is in use.
  rank(question) {
    for (const { row } of this.controls.values()) {
      const idle = strips.known.get(row)?.ticks.length === 0;
      row.classList.toggle("wayfare-idle", idle);
      row.title = idle ? "No value of this knob changes this decision." : "";
    }
    if (question === this.question || this.controls.size < FEW || this.held || this.host.contains(document.activeElement)) return;
    ranked.set(this.data.prefix, [question, nearest(this)]);
    this.putFirst(...ranked.get(this.data.prefix));
  }

  putFirst(question, names) {
    this.question = question;
    const rows = names.map((name) => this.controls.get(name).row);
    for (const { fold, inside } of this.homes) fold.append(...inside.filter((row) => !rows.includes(row)));
    this.near.ariaLabel = this.near.firstChild.textContent = rows.length ? "Changes the winner" : "No knob alone changes the winner";
    this.near.append(...rows);
    question === null ? this.near.remove() : this.host.prepend(this.near);
    this.find();
    this.mark();
  }

  // Set a knob back to its default, and store it at once.
  reset({ name }) {
    const { show, spec } = this.controls.get(name);
    show(spec.default);
    this.turn(name, spec.default);
    this.settle();
  }

  // The present values of all knobs. An invalid number keeps the value of the page host.
  values() {
    return Object.assign({}, this.data.values, this.trial, ...this.told.map(({ values }) => values), Object.fromEntries(this.turned));
  }

  // The values one step above and below that of the focused slider.
  neighbours() {
    const inUse = ({ row, spec }) => spec.kind === "slider" && row.contains(document.activeElement);
    const spec = [...this.controls.values()].find(inUse)?.spec;
    if (!spec) return [];
    const values = this.values();
    const beside = [1, -1].map((by) => snapped(spec, values[spec.name] + by * spec.step));
    return beside.filter((value) => value !== values[spec.name]).map((value) => ({ ...values, [spec.name]: value }));
  }

  // Show the page under a value of a knob that is not stored; null ends it.
  try({ name, value }) {
    const knob = this.controls.get(name);
    if (!knob || !this.host.isConnected || !this.lane.open) return;
    if (value !== null && (this.turned.size || this.told.length)) return;
    this.trial = value === null ? {} : { [name]: value };
    knob.show(this.values()[name] ?? null);
    knob.row.classList.toggle("wayfare-turned", value !== null);
    this.lane.ask();
  }

  // A knob was moved elsewhere on the page; it is stored once it is not `held` any more.
  turnTo({ name, value, held }) {
    const knob = this.controls.get(name);
    if (!knob || !this.host.isConnected) return;
    const next = snapped(knob.spec, value);
    this.held = held;
    if (next !== this.values()[name]) {
      knob.show(next);
      this.turn(name, next);
    }
    if (!held) this.hold(false);
  }

  // A knob was moved. `wait`: the pause before the page host gets it.
  turn(name, value, wait = QUIET_MS) {
    if (!this.turned.size) {
      this.lane.lost = false;
      keepInSight(this.data.chart, this.controls.get(name).row);
    }
    this.turned.set(name, value);
    this.latest = name;
    this.waiting = null; // a pressed button that waits is meant for the values of then
    document.dispatchEvent(new CustomEvent("wayfare-turned", { detail: { name, value } }));
    this.host.classList.toggle("wayfare-stale", this.data.kind === "decision"); // others have no strips
    for (const [each, { row }] of this.controls) row.classList.toggle("wayfare-turned", each === name);
    this.mark();
    if (this.lane.open) {
      ahead(true, this.data.waits);
      this.lane.ask();
      this.settleAfter(wait);
    } else if (!this.held) this.settle();
  }

  // Without the lane, the knob acts as soon as it is released.
  laneLost() {
    ahead(false, this.data.waits);
    this.waiting = null;
    if (!this.held) this.settle();
  }

  hold(isHeld) {
    this.held = isHeld;
    this.lane.foreseeSoon();
    if (!isHeld && this.turned.size) this.lane.open ? this.settleAfter(QUIET_MS) : this.settle();
  }

  settleAfter(wait) {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.held || this.settle(), wait);
  }

  // Send the turned values to the page host, and let it `go` through the history.
  settle(go) {
    clearTimeout(this.timer);
    if (!this.turned.size && !go) return;
    this.count += 1;
    this.told.push({ count: this.count, values: Object.fromEntries(this.turned), ...go });
    this.turned.clear();
    this.tell(UNHEARD_MS);
  }

  send(messages) {
    clearTimeout(this.sending);
    this.sending = setTimeout(() => (this.sending = null), SENT_MS); // a busy browser posts late, and ends this late, too
    this.post(messages);
  }

  tell(wait) {
    clearTimeout(this.again);
    this.send(this.told);
    this.again = setTimeout(() => this.tellAgain(2 * wait), wait);
  }

  async tellAgain(wait) {
    await atRest();
    if (this.told.length && this.host.isConnected) this.tell(wait);
  }

  // A link or button may lead to another view. The turned values go first: after it they would lead back. A button that waits for
  // them is pressed when they are stored.
  pressedElsewhere(event) {
    if (!event.isTrusted || event.ctrlKey || event.metaKey || event.shiftKey || !this.host.isConnected) return;
    const waiting = (this.turned.size || this.told.length) && waitingButton(event);
    const pressed = waiting || event.target.closest?.("a, button");
    const onTheWay = this.turned.size || this.sending;
    if (!pressed || this.host.contains(pressed) || !(waiting || onTheWay)) return;
    event.preventDefault();
    event.stopImmediatePropagation();
    this.settle();
    if (waiting) this.waiting = placeOf(waiting);
    else setTimeout(() => pressed.click(), SENT_MS);
  }

  // Values on their way to the page host are a step, too. The clicked history may be older than the present state.
  step({ go, known, heard }) {
    this.drawnOnTheWay ||= this.turned.size > 0; // and the page host may have no news
    if (known || this.turned.size || this.count > heard) this.settle(go);
  }

  // Mark the knobs that differ from their defaults, and count them by group.
  mark() {
    const values = this.values();
    const changed = [...this.controls.values()].filter(({ spec }) => values[spec.name] !== spec.default);
    for (const knob of this.controls.values()) knob.mark(changed.includes(knob));
    for (const { fold } of this.homes) {
      const inside = changed.filter(({ row }) => fold.contains(row)).length;
      const count = fold.querySelector("summary > span");
      const words = inside ? `${inside} ●` : ""; // it needs no extra line, so that the knob does not move
      if (count.textContent === words) continue;
      count.textContent = words;
      count.title = inside ? `${inside} of these knobs ${inside > 1 ? "are" : "is"} not at the default` : "";
    }
    const detail = { prefix: this.data.prefix, names: [...this.controls.keys()], chips: changed.map(({ spec }) => chip(spec, values[spec.name])) };
    document.dispatchEvent(new CustomEvent("wayfare-differs", { detail })); // to state.js
  }

  // Show a sentence about the last turned knob, or "". While `wrong` names a knob with an unusable typed text, its own sentence stays.
  say(sentence) {
    if (this.wrong) return;
    for (const [name, each] of this.controls) each.fault(sentence && name === this.latest ? sentence : "");
  }

  winnerIs(tool) {
    this.controls.get(this.latest)?.readOut(tool);
    if (tool !== this.winner) this.status.textContent = tool ? `${tool} wins` : "Nothing wins";
    this.winner = tool;
  }
}

// The button under the pointer that waits for the shown decision. It is inert, so the press reached an element around it.
function waitingButton({ target, clientX, clientY }) {
  return [...document.querySelectorAll("[inert] button")].find((button) => {
    const { left, right, top, bottom } = button.getBoundingClientRect();
    return target.contains?.(button) && left <= clientX && clientX <= right && top <= clientY && clientY <= bottom;
  });
}

// Where a button stands: at the same place the stored decision has the button of the card that was seen.
function placeOf(button) {
  const box = button.closest("[inert]");
  return { box: [...box.classList].find((name) => name.startsWith("st-key-")), at: [...box.querySelectorAll("button")].indexOf(button) };
}

const buttonAt = ({ box, at }) => document.querySelector(`.${CSS.escape(box)}`)?.querySelectorAll("button")[at];

// A changed knob, as `_chips` of frame.py tells it.
function chip({ name, title, unit, default: usual }, value) {
  const written = (value) => (value === null ? "off" : { true: "on", false: "off" }[value] ?? String(value));
  const shown = `${written(value)}${unit ? ` ${unit}` : ""}`;
  return { name, text: `${title.split(", ").pop()} ${shown}`, about: `${title}: ${written(usual)} → ${shown}` };
}

// The names of the knobs that can change the winner, the nearest change first.
function nearest(panel) {
  const values = panel.values(), away = new Map();
  for (const [name, { row, spec }] of panel.controls) {
    const changes = (strips.known.get(row)?.bands ?? []).slice(1).map(([from]) => shareOf(spec, from));
    const now = shareOf(spec, values[name] ?? spec.high);
    if (changes.length) away.set(name, Math.min(...changes.map((at) => Math.abs(at - now))));
  }
  return [...away.keys()].sort((a, b) => away.get(a) - away.get(b)).slice(0, MOST_NEAR);
}

// Shows the knobs whose name, letter, unit or help has all typed words, advanced ones, too.
function searchField(panel, folds) {
  const field = element("input", { type: "search", className: "wayfare-find", placeholder: "Find a knob" });
  field.setAttribute("aria-label", "Find a knob by its name, letter or help");
  let open; // the folds, as they were before the search
  panel.find = () => {
    const wanted = field.value.toLowerCase().split(/\s+/).filter(Boolean);
    for (const { row, spec } of panel.controls.values()) {
      const text = `${spec.title} ${spec.name} ${spec.unit} ${spec.help}`.toLowerCase();
      row.hidden = !wanted.every((word) => text.includes(word));
    }
    if (wanted.length) open ??= new Map(folds.map((fold) => [fold, fold.open]));
    const isEmpty = (box) => [...box.querySelectorAll(".wayfare-knob")].every((row) => row.hidden);
    panel.near.hidden = wanted.length > 0 && isEmpty(panel.near);
    for (const fold of folds) {
      fold.hidden = isEmpty(fold);
      if (open) fold.open = wanted.length > 0 || open.get(fold);
      for (const title of fold.querySelectorAll(".wayfare-part-title")) title.hidden = wanted.length > 0;
    }
    if (!wanted.length) open = undefined;
    const any = [panel.near, ...folds].some((box) => !box.hidden);
    panel.status.textContent = any ? "" : "No knob has these words.";
    field.classList.toggle("wayfare-not-found", !any);
  };
  field.addEventListener("input", panel.find);
  field.addEventListener("keydown", (event) => {
    if (event.key !== "Escape") return;
    field.value = "";
    panel.find();
  });
  return field;
}

// On a phone the knobs cover the lower part of the page (page.css): scroll the chart that they change above them.
function keepInSight(key, row) {
  const box = key && matchMedia("(max-width: 767px)").matches && partBox(key);
  if (!box) return;
  const { top } = box.getBoundingClientRect();
  if (top < 50 || top > 0.3 * innerHeight) box.scrollIntoView({ block: "start" });
  row.scrollIntoView({ block: "nearest" });
}
