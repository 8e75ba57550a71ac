// The draggable point of a map: the trace with the meta "dragged", over heatmaps with named cells.
//
// While it moves, it snaps to cells and shows the hover text of its cell. When released, it chooses the name of the cell, as a
// click does. Until then only the mark moves.

const REACH = 20; // px around the mark
let held; // {box, place, at, cell}

addEventListener("pointerdown", grab, true);
addEventListener("pointermove", move, true);
addEventListener("pointerup", release, true);
addEventListener("pointercancel", putBack, true);
addEventListener("touchstart", (event) => held && event.preventDefault(), { capture: true, passive: false }); // no scrolling

function grab(event) {
  const handle = event.button === 0 && underneath(event);
  if (!handle) return;
  held = handle;
  event.preventDefault(); // the chart gets no press
  held.box.setPointerCapture(event.pointerId);
}

// The chart whose mark is under the pointer, if any.
function underneath(event) {
  const box = event.target.closest?.(".wayfare-chart");
  const place = box?.data?.findIndex((trace) => trace.meta === "dragged") ?? -1;
  if (place < 0) return undefined;
  const at = [box.data[place].x[0], box.data[place].y[0]];
  const { x, y } = pixels(box, at);
  const frame = box.getBoundingClientRect();
  return Math.hypot(event.clientX - frame.left - x, event.clientY - frame.top - y) < REACH ? { box, place, at } : undefined;
}

function pixels(box, [x, y]) {
  const { xaxis, yaxis } = box._fullLayout;
  return { x: xaxis._offset + xaxis.l2p(x), y: yaxis._offset + yaxis.l2p(y) };
}

function move(event) {
  if (!held) {
    const area = event.target.closest?.(".wayfare-chart .nsewdrag");
    if (area) area.style.cursor = underneath(event) ? "grab" : "";
    return;
  }
  const { box } = held;
  const { xaxis, yaxis } = box._fullLayout;
  const frame = box.getBoundingClientRect();
  const cells = box.data.filter((trace) => trace.type === "heatmap");
  const column = nearest(cells[0].x, xaxis.p2l(event.clientX - frame.left - xaxis._offset));
  const row = nearest(cells[0].y, yaxis.p2l(event.clientY - frame.top - yaxis._offset));
  const name = cells.find((trace) => trace.z[row][column] !== null)?.customdata[row][column];
  if (name === undefined || name === held.cell) return;
  held.cell = name;
  const at = [cells[0].x[column], cells[0].y[row]];
  mark(at);
  window.Plotly.Fx.hover(box, { xval: at[0], yval: at[1] });
}

function nearest(values, wanted) {
  return values.reduce((best, value, place) => (Math.abs(value - wanted) < Math.abs(values[best] - wanted) ? place : best), 0);
}

function mark([x, y]) {
  const { xaxis, yaxis } = held.box._fullLayout;
  const points = held.box.querySelectorAll(".scatterlayer .points path");
  points[points.length - 1]?.setAttribute("transform", `translate(${xaxis.l2p(x)},${yaxis.l2p(y)})`);
}

function release() {
  if (!held) return;
  window.Plotly.Fx.unhover(held.box);
  const chart = charts.get(held.box);
  if (held.cell && chart) choose(chart, held.cell);
  held = undefined;
}

function putBack() {
  if (!held) return;
  mark(held.at);
  held = undefined;
}
