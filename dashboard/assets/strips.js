// Winner strips: the track of a knob has the colours of the winner at each value. They come by the fast lane after all other
// parts; until then the old strips are faint. Colours and words come from the console.

const LATER_MS = 500; // a continued turn does not wait for them
const PATIENT_MS = 60000; // nobody waits for them; a busy machine may take longer than for a turn
const POWERS = { linear: 1, "cube root": 3 };

// The place of a value on its track, 0 to 1.
function shareOf({ low, high, scale }, value) {
  return Math.min(1, Math.max(0, (value - low) / (high - low))) ** (1 / POWERS[scale]);
}

// The value at a place.
function valueAt({ low, high, scale }, share) {
  return low + (high - low) * Math.min(1, Math.max(0, share)) ** POWERS[scale];
}

const strips = {
  known: new WeakMap(), // by row of a knob: its strip

  // Request the strips of the present values after a pause, and again after twice that if they could not be had.
  refresh(panel, wait = LATER_MS) {
    clearTimeout(panel.stripsTimer);
    panel.stripsTimer = setTimeout(() => strips.load(panel, wait), wait);
  },

  async load(panel, wait) {
    if (!panel.host.isConnected || panel.data.kind !== "decision") return;
    if (!panel.lane.open) return strips.clear(panel);
    if (panel.turned.size || panel.told.length) return;
    const trying = Object.keys(panel.trial).length > 0;
    if (trying || drawing() || panel.lane.inFlight) return strips.refresh(panel);
    const [epoch, values] = [panel.lane.epoch, panel.values()];
    const key = JSON.stringify(values);
    try {
      const answer = await panel.lane.fetched("strips", values, PATIENT_MS);
      if (epoch !== panel.lane.epoch || key !== JSON.stringify(panel.values()) || answer.error) return;
      for (const [name, { row, spec }] of panel.controls) strips.draw(row, spec, answer.strips[name]);
      panel.host.classList.remove("wayfare-stale");
      panel.rank(answer.question);
    } catch (error) {
      console.info("The winner strips could not be had yet.", error);
      strips.refresh(panel, 2 * wait);
    }
  },

  // No colours where the page shows something else than the decision of these knobs, as a plan.
  clear(panel) {
    const { token, shows } = panel.data;
    const shown = shows && partBox(shows);
    if (!shown || shown.dataset.lane === token) return;
    for (const { row, spec } of panel.controls.values()) strips.draw(row, spec, null);
    panel.rank(null);
  },

  draw(row, spec, strip) {
    const track = row.querySelector(".wayfare-strip");
    if (!track) return;
    const range = row.querySelector("input[type=range]");
    strips.known.set(row, strip);
    if (!strip) {
      track.style.background = "";
      track.replaceChildren();
      range?.removeAttribute("aria-description");
      return;
    }
    const share = (value) => 100 * shareOf(spec, value);
    const stops = strip.bands.map(([from, to, colour]) => `${colour || "var(--wayfare-nobody)"} ${share(from)}% ${share(to)}%`);
    track.style.background = `linear-gradient(to right, ${stops.join(", ")})`;
    const winners = new Set(strip.bands.map(([from]) => from));
    const ticks = strip.ticks.map((at) => {
      const tick = element("i", { className: winners.has(at) ? "wayfare-break" : "wayfare-tick" });
      tick.style.left = `${share(at)}%`;
      return tick;
    });
    track.replaceChildren(...ticks);
    range?.setAttribute("aria-description", strip.about);
  },

  // The needle; a knob that is off has no needle.
  point(row, spec, value) {
    const needle = row.querySelector(".wayfare-needle");
    needle.hidden = value === null;
    needle.style.setProperty("--share", shareOf(spec, value));
  },

  // The winner, its lead and the deciding stage at the mouse.
  hover(row, spec) {
    const track = row.querySelector(".wayfare-track");
    track.addEventListener("pointermove", (event) => {
      const strip = strips.known.get(row);
      if (!strip) return;
      const box = track.querySelector(".wayfare-strip").getBoundingClientRect();
      const value = valueAt(spec, (event.clientX - box.left) / box.width);
      const segment = strip.segments.findLast(([from]) => from <= value) ?? strip.segments[0];
      showTip(tip, segment[2], track.getBoundingClientRect(), track);
    });
    track.addEventListener("pointerleave", () => (tip.hidden = true));
  },
};
