// One knob: its row of the panel, its value, its look, and its input.

const FRAME_MS = 100;
const NEEDLE_PX = 10; // --needle of knobs.css

function control(spec, panel) {
  const id = `wayfare-knob-${panel.data.prefix}-${spec.name}`.replace(/[^\w-]/g, "-");
  const dot = element("span", { className: "wayfare-dot", textContent: "●", hidden: true });
  const name = element("label", { htmlFor: id }, spec.title, " ", dot);
  const help = element("button", { type: "button", className: "wayfare-help", textContent: "?" });
  help.setAttribute("aria-label", `Help on ${spec.title}`);
  help.dataset.help = spec.help;
  const head = element("div", { className: "wayfare-knob-head" }, element("div", {}, name, help));
  const fault = element("div", { className: "wayfare-fault", role: "alert" });
  const row = element("div", { className: `wayfare-knob wayfare-${spec.kind}` }, head);
  row.dataset.knob = spec.name;
  const kind = { slider, optional: limit, switch: toggle, choice, text }[spec.kind];
  const parts = kind(spec, panel, id, head, row);
  row.append(fault);
  if (row.querySelector(".wayfare-track")) strips.hover(row, spec);
  return {
    row,
    spec,
    readOut() {},
    ...parts,
    mark: (differs) => (dot.hidden = !differs),
    fault: (sentence) => (fault.textContent = sentence),
  };
}

// A slider with a field. Pointer and keys set multiples of the step. The browser's own slider has the value, for keys and for
// screen readers. The scale of the track gives the place of the needle and the value under the pointer.
function slider(spec, panel, id, head, row) {
  const range = element("input", { type: "range", id, min: spec.low, max: spec.high, step: "any" });
  range.setAttribute("aria-label", spec.title);
  const field = numberField(spec, `${spec.title}: type a value`);
  const track = trackOf(range);
  head.append(field, element("span", { className: "wayfare-unit", textContent: spec.unit }));
  row.append(track);
  const say = (value, winner = "") =>
    range.setAttribute("aria-valuetext", `${value} ${spec.unit}${winner && `, ${winner} wins`}`.trim());
  const show = (value) => {
    range.value = value;
    if (document.activeElement !== field || Number(field.value) !== value) field.value = value;
    say(value);
    strips.point(row, spec, value);
  };
  const turn = (value) => {
    const next = snapped(spec, value);
    const moved = next !== shown();
    show(next);
    if (moved) panel.turn(spec.name, next);
  };
  const shown = () => panel.values()[spec.name];
  dragged(track, spec, panel, show);
  range.addEventListener("input", () => turn(range.valueAsNumber));
  range.addEventListener("keydown", (event) => {
    const next = keyed(event, spec, Number(shown()));
    if (next === undefined || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    panel.held = true;
    turn(next);
  });
  range.addEventListener("keyup", () => panel.held && panel.hold(false));
  range.addEventListener("blur", () => panel.held && panel.hold(false));
  typed(field, spec, panel, show);
  if (spec.name === panel.data.plays) head.prepend(player(spec, panel, () => turn(shown() + spec.step)));
  return { show, readOut: (winner) => say(shown(), winner) };
}

// Let the pointer turn a knob along its track and `show` its values.
function dragged(track, spec, panel, show) {
  const strip = track.querySelector(".wayfare-strip");
  let grip = 0; // px from the middle of the needle to the pointer
  const pull = ({ clientX }) => {
    const { left, width } = strip.getBoundingClientRect();
    const next = snapped(spec, valueAt(spec, (clientX - grip - left) / width));
    if (next === panel.values()[spec.name]) return;
    show(next);
    panel.turn(spec.name, next);
  };
  track.addEventListener("pointerdown", (event) => {
    if (event.button) return;
    event.preventDefault(); // the focus goes to the slider
    track.querySelector("input")?.focus({ preventScroll: true });
    track.setPointerCapture(event.pointerId);
    const { left, width } = strip.getBoundingClientRect();
    grip = event.clientX - left - width * shareOf(spec, panel.values()[spec.name] ?? spec.high);
    if (Math.abs(grip) > NEEDLE_PX / 2) grip = 0;
    panel.hold(true);
    pull(event);
  });
  track.addEventListener("pointermove", (event) => track.hasPointerCapture(event.pointerId) && pull(event));
  for (const end of ["pointerup", "pointercancel"]) track.addEventListener(end, () => panel.held && panel.hold(false));
}

// A button that moves a slider on, a step a frame, until it is pressed again or the end is reached. The last value is stored.
function player(spec, panel, next) {
  const button = element("button", { type: "button", className: "wayfare-play" });
  let timer = 0;
  const show = () => {
    button.textContent = timer ? "❚❚" : "▶";
    button.setAttribute("aria-label", `${timer ? "Stop" : "Play"} ${spec.title}`);
  };
  const stop = () => {
    timer = clearInterval(timer);
    show();
    panel.hold(false);
  };
  const frame = () => {
    if (!button.isConnected || panel.lane.lost || panel.values()[spec.name] >= spec.high) stop();
    else next();
  };
  button.addEventListener("click", () => {
    if (timer) return stop();
    panel.held = true;
    timer = setInterval(frame, FRAME_MS);
    show();
  });
  show();
  return button;
}

function trackOf(...under) {
  const strip = element("div", { className: "wayfare-strip" });
  return element("div", { className: "wayfare-track" }, ...under, strip, element("b", { className: "wayfare-needle" }));
}

function keyed({ key }, { low, high, step }, value) {
  const by = { ArrowRight: 1, ArrowUp: 1, ArrowLeft: -1, ArrowDown: -1, PageUp: 10, PageDown: -10 }[key];
  return by ? value + by * step : { Home: low, End: high }[key];
}

function snapped({ low, high, step, digits }, value) {
  return Number(Math.min(high, Math.max(low, Math.round(value / step) * step)).toFixed(digits));
}

function numberField(spec, label) {
  const field = element("input", { type: "number", className: "wayfare-typed", min: spec.low, max: spec.high, step: "any" });
  field.setAttribute("aria-label", label);
  return field;
}

function typed(field, spec, panel, show) {
  const value = () => (field.value === "" && !field.validity.badInput ? null : field.valueAsNumber);
  const wrong = (v) => {
    if (v === null) return spec.kind === "optional" ? "" : "Type a number.";
    const fits = v >= spec.low && v <= spec.high && (!spec.whole || Number.isInteger(v));
    return fits ? "" : `Give a ${spec.whole ? "whole " : ""}number from ${spec.low} to ${spec.high}.`;
  };
  const complain = (sentence) => {
    panel.wrong = "";
    panel.say(sentence);
    panel.wrong = sentence && spec.name;
  };
  field.addEventListener("input", () => {
    const sentence = wrong(value());
    panel.latest = spec.name;
    complain(sentence);
    if (sentence) return;
    show(value());
    panel.turn(spec.name, value(), TYPING_MS);
  });
  field.addEventListener("change", () => {
    if (wrong(value())) show(panel.values()[spec.name]);
    else panel.settle();
    complain("");
  });
}

// A number that can be off.
function limit(spec, panel, id, head, row) {
  const field = Object.assign(numberField(spec, spec.title), { id, placeholder: "off" });
  head.append(field, element("span", { className: "wayfare-unit", textContent: spec.unit }));
  const track = trackOf();
  row.append(track);
  const show = (value) => {
    if (document.activeElement !== field || (value ?? "") !== (field.value === "" ? "" : Number(field.value))) {
      field.value = value === null ? "" : value.toFixed(spec.digits);
    }
    strips.point(row, spec, value);
  };
  dragged(track, spec, panel, show);
  typed(field, spec, panel, show);
  return { show };
}

function toggle(spec, panel, id, head) {
  const box = element("input", { type: "checkbox", id, role: "switch" });
  box.setAttribute("aria-label", spec.title);
  head.prepend(box);
  box.addEventListener("change", () => panel.turn(spec.name, box.checked));
  return { show: (value) => (box.checked = value) };
}

function choice(spec, panel, id, head, row) {
  const options = spec.choices.map((choice) => element("option", { value: choice, textContent: choice }));
  const list = element("select", { id }, ...options);
  row.append(list);
  list.addEventListener("change", () => panel.turn(spec.name, list.value));
  return { show: (value) => (list.value = value) };
}

function text(spec, panel, id, head, row) {
  const field = element("input", { type: "text", id, maxLength: spec.longest });
  row.append(field);
  field.addEventListener("change", () => {
    panel.turn(spec.name, field.value);
    panel.settle();
  });
  return { show: (value) => document.activeElement !== field && (field.value = value) };
}
