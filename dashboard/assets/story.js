// The knob of the story moves by itself once: there, a moment's rest, and back. Nothing of it is stored. Any press or key ends it, and it
// does not begin by itself where less motion is wanted; a button shows it then. The visitor moves the same knob here or in the panel.

const SEEN = "wayfare-story-seen"; // in this window
const [AWAIT_MS, THERE_MS, REST_MS, BACK_MS] = [900, 2200, 1200, 800]; // below 5 s without the first
const stories = new Map(); // by element
let heard = false;

export default function ({ data, parentElement }) {
  const host = parentElement.querySelector(".wayfare-story");
  const story = stories.get(host) ?? new Story(host);
  stories.set(host, story);
  story.take(data);
  if (!heard) listen();
  return () => {
    if (host.isConnected) return;
    story.stop();
    stories.delete(host);
  };
}

function listen() {
  heard = true;
  const stop = () => stories.forEach((story) => story.stop());
  for (const kind of ["pointerdown", "keydown", "input"]) document.addEventListener(kind, stop, { capture: true, passive: true });
  document.addEventListener("wayfare-turned", ({ detail }) => stories.forEach((story) => story.follow(detail)));
}

const seen = (value) => kept("sessionStorage", SEEN, value);

class Story {
  constructor(host) {
    this.host = host;
    this.says = element("p", { className: "wayfare-story-says", role: "status" });
    this.label = element("label", { htmlFor: "wayfare-story-knob" });
    this.range = element("input", { type: "range", id: "wayfare-story-knob", step: "any" });
    this.value = element("span"); // no output: it would be read out at every step
    this.legend = element("p", { className: "wayfare-story-legend" });
    this.again = element("button", { type: "button", onclick: () => this.play() }, "Show it move");
    const row = element("div", { className: "wayfare-story-row" }, this.label, this.range, this.value, this.again);
    host.replaceChildren(this.says, row, this.legend);
    this.range.addEventListener("input", () => this.turn(true));
    for (const end of ["change", "pointerup", "blur"]) this.range.addEventListener(end, () => this.held && this.turn(false));
  }

  take(data) {
    this.data = data;
    this.label.textContent = data.title;
    Object.assign(this.range, { min: data.low, max: data.top });
    this.range.step = data.step;
    const share = (value) => `${(100 * (Math.min(value, data.top) - data.low)) / (data.top - data.low)}%`;
    const nobody = "var(--st-border-color)";
    const stops = data.bands.map(([from, to, colour, name]) => `${name === "no tool" ? nobody : colour} ${share(from)} ${share(to)}`);
    this.range.style.setProperty("--bands", `linear-gradient(to right, ${stops.join(", ")})`);
    this.legend.replaceChildren(
      ...data.bands.map(([from, to, colour, name]) => {
        const sign = element("i", { ariaHidden: "true" }, "■");
        sign.style.color = name === "no tool" ? nobody : colour;
        const where = to < data.top ? `${written(from)} to ${written(to)}` : `${written(from)} and more`;
        return element("span", {}, sign, ` ${where}: ${name} wins`);
      }),
    );
    if (this.playing) return;
    this.show(data.now);
    if (seen()) this.say(data.after);
    else this.begin();
  }

  show(value) {
    this.range.value = value;
    this.value.textContent = `${written(value)} ${this.data.unit}`.trim();
    this.range.setAttribute("aria-valuetext", this.value.textContent);
  }

  say(sentence) {
    if (this.says.textContent !== sentence) this.says.textContent = sentence;
  }

  // When the charts are drawn, and the visitor has not done anything meanwhile.
  begin() {
    const still = matchMedia("(prefers-reduced-motion: reduce)").matches;
    if (still) return this.say(this.data.after);
    this.say(this.data.before);
    clearTimeout(this.timer);
    this.timer = setTimeout(() => {
      if (!this.host.isConnected) return;
      const busy = document.hidden || drawing() || !document.querySelector(".js-plotly-plot");
      busy ? this.begin() : this.play();
    }, AWAIT_MS);
  }

  play() {
    this.stop();
    seen("1");
    this.say(this.data.before);
    const { now, to } = this.data;
    const started = performance.now();
    this.playing = true;
    const frame = () => {
      if (!this.playing) return;
      const passed = performance.now() - started;
      if (passed > THERE_MS + REST_MS + BACK_MS || !this.host.isConnected) return this.stop();
      const back = Math.max(0, passed - THERE_MS - REST_MS) / BACK_MS;
      const share = Math.min(1, passed / THERE_MS) - back;
      this.try(now + (to - now) * eased(share));
      requestAnimationFrame(frame);
    };
    frame();
  }

  // The value of a moment, in steps of the knob.
  try(value) {
    const { name, step } = this.data;
    const next = Number((Math.round(value / step) * step).toFixed(6));
    if (next === this.tried) return;
    this.tried = next;
    this.show(next);
    document.dispatchEvent(new CustomEvent("wayfare-try", { detail: { name, value: next } }));
  }

  // End the move, or the wait for it, with the knob where it was.
  stop() {
    const waited = this.timer;
    clearTimeout(this.timer);
    this.timer = undefined;
    if (this.playing) {
      this.playing = false;
      this.tried = undefined;
      this.show(this.data.now);
      document.dispatchEvent(new CustomEvent("wayfare-try", { detail: { name: this.data.name, value: null } }));
    } else if (waited === undefined) return;
    seen("1");
    this.say(this.data.after);
  }

  // The visitor moves the knob here; the panel stores it.
  turn(held) {
    this.held = held;
    const value = this.range.valueAsNumber;
    this.show(value);
    document.dispatchEvent(new CustomEvent("wayfare-turn", { detail: { name: this.data.name, value, held } }));
  }

  // The visitor moves it in the panel.
  follow({ name, value }) {
    if (name === this.data.name && document.activeElement !== this.range) this.show(value);
  }
}

const written = (value) => String(Number(value.toPrecision(3)));
const eased = (share) => share * share * (3 - 2 * share);
