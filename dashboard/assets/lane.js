// The fast lane: puts the answers of the console for the values of the knobs into the page at once. One request is in flight;
// of later values the newest counts. Without the lane a knob acts when it is released.

const QUIET_MS = 300;
const TYPING_MS = 1200; // "0." is on the way to "0.3"
const LIMIT_MS = 5000;
const SOON_MS = 50;
const PRESS_MS = 1000;
const SCORE = "route:score";
const SCORE_LIMIT_MS = 60000; // the first time, tasks are embedded
const SCORE_PAUSE_MS = 150; // the decision under the hand comes first

class Lane {
  constructor(panel) {
    this.panel = panel;
    this.inFlight = false;
    this.wished = false;
    this.lost = false; // until the next gesture
    this.epoch = 0; // answers to requests from before a change of the page host are dropped
    this.foreseen = new Map(); // answers by values, while the query is the same
  }

  // Whether the page shows a part that this lane can draw. The knobs of another router come before its page.
  get open() {
    const { token, shows } = this.panel.data;
    return Boolean(token && shows && !this.lost && partBox(shows)?.dataset.lane === token);
  }

  async ask() {
    this.wished = true;
    if (this.inFlight) return;
    this.inFlight = true;
    try {
      for (let coming = this.next(); coming; ) {
        const answer = await coming.answer;
        const following = this.wished ? this.next() : null; // computed while this one is drawn
        if (coming.epoch === this.epoch) await this.drawn(answer);
        coming = following ?? (this.wished ? this.next() : null);
      }
    } catch (error) {
      console.info("The fast lane is lost; the knob acts when it is let go.", error);
      this.lost = true;
      this.panel.laneLost();
    } finally {
      this.inFlight = false;
    }
    this.foreseeSoon();
  }

  next() {
    this.wished = false;
    const values = this.panel.values();
    const answer = this.foreseen.get(JSON.stringify(values)) ?? this.fetched(this.panel.data.kind, values);
    Promise.resolve(answer).catch(() => {}); // it is awaited after the previous one is drawn
    return { epoch: this.epoch, answer };
  }

  // In a pause, request the next step of the used slider, so that a key shows it at once.
  async foresee() {
    const { foreseen } = this;
    try {
      for (const values of this.panel.neighbours()) {
        const key = JSON.stringify(values);
        if (this.wished || this.inFlight || !this.open || this.panel.held || this.panel.told.length) return;
        if (!foreseen.has(key)) foreseen.set(key, await this.fetched(this.panel.data.kind, values));
      }
    } catch (error) {
      console.info("What comes next could not be foreseen.", error);
    }
  }

  // The query may have changed.
  forget() {
    this.foreseen = new Map();
    this.foreseeSoon();
  }

  // When the page is drawn.
  foreseeSoon() {
    clearTimeout(this.soon);
    this.soon = setTimeout(() => (drawing() ? this.foreseeSoon() : this.foresee()), SOON_MS);
  }

  async fetched(kind, values, limit = LIMIT_MS) {
    const { token, at } = this.panel.data;
    const response = await fetch(at, {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify({ token, kind, values }),
      signal: AbortSignal.timeout(limit),
    });
    const answer = await response.json();
    if (!response.ok && response.status !== 422) throw new Error(answer.error);
    return answer;
  }

  // The score over labelled tasks follows in its own time: one request is in flight, and of later values the newest counts.
  async score() {
    const { kind, token } = this.panel.data;
    if (kind !== "decision" || !this.open || partBox(SCORE)?.dataset.lane !== token) return;
    this.toScore = true;
    if (this.scoring) return;
    this.scoring = true;
    try {
      while (this.toScore && this.open) {
        this.toScore = false;
        const { parts } = await this.fetched("score", this.panel.values(), SCORE_LIMIT_MS);
        const box = partBox(SCORE), waited = box?.querySelector(".wayfare-faint");
        if (parts) box?.dispatchEvent(new CustomEvent("wayfare-part", { detail: { part: parts[SCORE] } }));
        if (waited && box.querySelector(".wayfare-score:not([data-slow])")) this.redrawAtRest(); // a turned knob waits for nothing
        await pause(SCORE_PAUSE_MS);
      }
    } catch (error) {
      console.info("The labelled tasks were not scored.", error);
    } finally {
      this.scoring = false;
    }
  }

  // The page host draws the changed questions, which it can do at once from now on.
  async redrawAtRest() {
    await atRest();
    const choosing = document.querySelector("[role=listbox]"); // a redraw would close it
    if (this.open && !choosing) this.panel.send(this.panel.told);
  }

  // Draw all parts of one answer in one frame, then let the browser show it and handle input.
  async drawn(answer) {
    this.panel.say(answer.error ?? "");
    if (answer.error) return;
    const boxes = [...document.querySelectorAll("[data-part]")].map((box) => ({ box, seen: inSight(box) }));
    for (const { box, seen } of boxes) {
      const part = answer.parts[box.dataset.part] ?? (isCard(box) ? "" : undefined);
      if (part !== undefined) box.dispatchEvent(new CustomEvent("wayfare-part", { detail: { part, seen } }));
    }
    this.panel.winnerIs(answer.winner);
    if (!partBox(SCORE)?.querySelector("[data-slow]")) this.score();
    await new Promise((resolve) => setTimeout(resolve));
  }
}

const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
let pressed = -Infinity; // when the visitor last pressed something
for (const kind of ["pointerdown", "click", "keydown", "input"]) document.addEventListener(kind, () => (pressed = performance.now()), true);

// A message to the page host that comes while a press leads to another view would lead back.
async function atRest() {
  while (performance.now() - pressed < PRESS_MS || !document.querySelector("[data-test-script-state=notRunning]")) await pause(SOON_MS);
}

const partBox = (key) => document.querySelector(`[data-part="${key}"]`);
const isCard = (box) => box.dataset.part.includes(":card:"); // there may be fewer candidates now

// Buttons and reasons of the stored decision wait until the shown decision is stored.
function ahead(isAhead, selector) {
  for (const box of selector ? document.querySelectorAll(selector) : []) {
    box.inert = isAhead;
    box.classList.toggle("wayfare-ahead", isAhead);
  }
}
