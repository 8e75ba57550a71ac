// A chart that is kept: a new figure is drawn into the existing one.
//
// An unchanged figure is not drawn again. A figure of the fast lane is drawn at once, so that all its parts change in one
// frame.
//
// Figures that arrive together are drawn in turn, the visible ones first, so that the first change is seen at once. A figure
// is skipped if a newer one arrives before its turn. A chart has the attribute `data-due` until its last figure is drawn.

const UNHEARD_MS = 5000; // then a click is sent to the page host again; the time doubles

const NARROW_PX = 480;
const FEW_NAMES = 4;
const ROW_PX = 18;

const MOVES = new Set(["x", "text", "hovertext", "customdata"]);

const SETTLED_MS = 250; // after a zoom or a move

let loading;
const charts = new Map(); // by box: {source, figure, say, size, sizes, hears, count, told}
const due = new Set(); // boxes
let busy = false;

export default function ({ data, parentElement, setTriggerValue }) {
  const box = parentElement.querySelector(".wayfare-chart");
  const chart = charts.get(box) ?? begin(box);
  chart.say = (click) => setTriggerValue("chosen", click);
  chart.look = (view) => setTriggerValue("view", view);
  chart.view = data.view;
  chart.hears = data.clicks !== null;
  chart.count = Math.max(chart.count, data.clicks ?? 0);
  if (chart.told?.count <= data.clicks) heard(chart);
  chart.config = data.config;
  box.dataset.part = data.part;
  box.setAttribute("aria-label", data.about);
  box.setAttribute("role", chart.hears ? "group" : "img"); // what can be pressed is inside
  const same = chart.clicks === data.clicks && chart.colour === getComputedStyle(box).color && chart.size;
  if (given(chart, data.figure, !same)) {
    chart.clicks = data.clicks;
    fit(box, chart);
    ask(box);
  }
  return () => end(box);
}

// Take a figure. Returns whether it needs to be drawn. With `anew` it is parsed again, because the old one has the click.
function given(chart, source, anew = false) {
  if (chart.source === source && !anew) return false;
  chart.source = source;
  chart.figure = JSON.parse(source);
  return true;
}

// Draw a figure of the fast lane in this task if its chart exists, with its present size and colours: measuring them would
// lay out the whole page again. `seen`: whether it is visible.
function turned(box, { part, seen }) {
  const chart = charts.get(box);
  if (!chart || !given(chart, part)) return;
  if (!window.Plotly || !chart.size || !seen || document.fullscreenElement) return ask(box);
  due.delete(box);
  if (chart.frame && chart.frame === frameOf(chart.figure)) slide(window.Plotly, box, chart);
  else draw(window.Plotly, box, chart);
}

// Move bars, points and texts within their axes: half the work of a new drawing, which lays out axes and margins again.
async function slide(plotly, box, chart) {
  delete box.dataset.due;
  const { data } = chart.figure;
  const atOnce = { transition: { duration: 0 }, frame: { duration: 0, redraw: false }, mode: "immediate" };
  await plotly.animate(box, { data, traces: [...data.keys()] }, atOnce).catch(() => {}); // a newer figure ends it
}

// All of a figure that does not move with its numbers. "" if its axes depend on them.
function frameOf({ data, layout }) {
  if (!layout.xaxis?.range || !layout.yaxis?.range) return "";
  return JSON.stringify([layout, JSON.stringify(data, (key, value) => (MOVES.has(key) ? value.length : value))]);
}

function begin(box) {
  const chart = { size: "", count: 0 };
  chart.sizes = new ResizeObserver(() => sizeOf(box) !== chart.size && ask(box));
  chart.sizes.observe(box);
  charts.set(box, chart);
  box.addEventListener("wayfare-part", (event) => turned(box, event.detail));
  box.nextElementSibling.onclick = () =>
    document.fullscreenElement ? document.exitFullscreen() : box.parentElement.requestFullscreen();
  return chart;
}

const sizeOf = (box) => `${box.clientWidth} x ${box.clientHeight}`;

// The height of the figure, or of the screen. In a narrow box a long legend has a row for each name.
function fit(box, chart) {
  const { data, layout } = chart.figure;
  const named = layout.showlegend && box.clientWidth < NARROW_PX ? data.filter((trace) => trace.name && trace.showlegend !== false) : [];
  const height = layout.height + (named.length > FEW_NAMES ? named.length * ROW_PX : 0);
  box.style.height = document.fullscreenElement?.contains(box) ? "100vh" : `${height}px`;
}

function end(box) {
  if (box.isConnected) return; // replaced, not removed
  const chart = charts.get(box);
  if (chart) heard(chart);
  chart?.sizes.disconnect();
  charts.delete(box);
  due.delete(box);
  window.Plotly?.purge(box);
}

function ask(box) {
  box.dataset.due = "";
  due.add(box);
  if (!busy) drawAll(box.dataset.plotly);
}

async function drawAll(source) {
  busy = true;
  try {
    const plotly = await (loading ??= load(source));
    while (due.size) {
      const box = next();
      due.delete(box);
      await drawn(plotly, box);
      await new Promise((resolve) => setTimeout(resolve)); // lets the browser show it and handle input
    }
  } catch (error) {
    console.error("A chart could not be drawn.", error);
    for (const box of due) failed(box);
    due.clear();
  } finally {
    busy = false;
  }
}

function load(source) {
  return new Promise((resolve, reject) => {
    const onload = () => resolve(window.Plotly);
    const onerror = () => {
      loading = undefined;
      reject(new Error(`${source} was not served.`));
    };
    document.head.append(element("script", { src: source, onload, onerror }));
  });
}

function next() {
  const inOrder = [...due].sort((a, b) => (a.compareDocumentPosition(b) & Node.DOCUMENT_POSITION_FOLLOWING ? -1 : 1));
  return inOrder.find(inSight) ?? inOrder[0];
}

async function drawn(plotly, box) {
  const chart = charts.get(box);
  if (!box.clientWidth) return delete box.dataset.due; // hidden: its size is observed when it is shown
  const fresh = !chart.size;
  fit(box, chart);
  chart.size = sizeOf(box);
  chart.colour = getComputedStyle(box).color;
  if (fresh) box.replaceChildren();
  const size = { width: box.clientWidth, height: box.clientHeight };
  chart.drawnWith = { ...size, template: { layout: looks(box) } };
  if ((await draw(plotly, box, chart)) && fresh) listen(box, chart, chart.figure.layout);
}

// Draw a chart with the last measured size and colours. Returns whether it could be drawn.
async function draw(plotly, box, chart) {
  const { data, layout } = chart.figure;
  chart.frame = frameOf(chart.figure); // before Plotly writes into it
  box.dataset.due = "";
  try {
    await plotly.react(box, data, { ...layout, ...chart.drawnWith }, chart.config);
  } catch (error) {
    if (!charts.has(box)) return false; // it was removed meanwhile
    console.error("A chart could not be drawn.", error);
    failed(box);
    return false;
  }
  if (!due.has(box)) delete box.dataset.due;
  return true;
}

// Remove the rest of the chart. A later figure starts again.
function failed(box) {
  window.Plotly?.purge(box);
  charts.get(box).size = "";
  box.textContent = "This chart could not be drawn. It is drawn again when it changes, or when the page is reloaded.";
  delete box.dataset.due;
}

// A point's customdata is its name. If points stay selected, deselecting one chooses none.
function listen(box, chart, layout) {
  const name = (event) => [event?.points?.[0]?.customdata ?? ""].flat()[0];
  if (layout.clickmode === "event+select") {
    box.on("plotly_selected", (event) => event && choose(chart, name(event)));
    box.on("plotly_deselect", () => choose(chart, ""));
  } else {
    box.on("plotly_click", (event) => name(event) && choose(chart, name(event)));
  }
  box.on("plotly_relayout", () => {
    clearTimeout(chart.looking);
    chart.looking = setTimeout(() => look(box, chart), SETTLED_MS);
  });
  look(box, chart);
}

// Tell the page host which part of a chart is in sight, if it draws more of a smaller part and does not know this one yet.
function look(box, chart) {
  if (!chart.view || !charts.has(box)) return;
  const ends = [box._fullLayout.xaxis, box._fullLayout.yaxis].flatMap((axis) => axis.range.map(Number));
  const view = ends.map((end) => Math.min(Math.max(end, 0), 1));
  if (view.every((end, place) => Math.abs(end - chart.view[place]) < 1e-6)) return;
  chart.view = view;
  chart.look(view);
}

// Send the clicked point to the page host until it confirms it: a message may be replaced by a newer one.
function choose(chart, name) {
  if (!chart.hears) return;
  chart.count += 1;
  chart.told = { count: chart.count, name };
  tell(chart, UNHEARD_MS);
}

function tell(chart, wait) {
  clearTimeout(chart.again);
  chart.say(chart.told);
  chart.again = setTimeout(() => tell(chart, 2 * wait), wait);
}

function heard(chart) {
  clearTimeout(chart.again);
  chart.told = undefined;
}

// Text, lines and font of the page, in light and in dark.
function looks(box) {
  const style = getComputedStyle(box);
  const token = (name) => style.getPropertyValue(`--st-${name}`).trim();
  const font = { family: token("font"), color: style.color };
  const axis = { tickfont: font, title: { font } };
  return {
    font,
    title: { font: { family: token("heading-font"), color: token("heading-color"), weight: 700 } },
    hoverlabel: { bgcolor: token("background-color"), bordercolor: token("border-color"), font },
    legend: { font },
    xaxis: { ...axis, showgrid: false, zeroline: false },
    yaxis: axis,
  };
}
