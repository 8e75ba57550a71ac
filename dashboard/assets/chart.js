// A chart that stays where it is: a new figure is drawn into it, and nothing is built anew.
//
// A figure that stands already is not drawn again. One that comes by the fast lane is drawn at once, so that all that it
// brings changes in one frame.
//
// Figures that arrive together are drawn one after the other, those in sight first, so that the first change is seen
// at once. A figure that was overtaken by a newer one before its turn is never drawn. While a chart has not yet drawn
// what it was given last, it bears the attribute `data-due`.

const UNHEARD_MS = 5000; // after which the page host is told of a click once more; then twice as long

let loading;
const charts = new Map(); // by box: {source, figure, say, size, sizes, hears, count, told}
const due = new Set(); // boxes
let drawing = false;

export default function ({ data, parentElement, setTriggerValue }) {
  const box = parentElement.querySelector(".wayfare-chart");
  const chart = charts.get(box) ?? begin(box);
  chart.say = (click) => setTriggerValue("chosen", click);
  chart.hears = data.clicks !== null;
  chart.count = Math.max(chart.count, data.clicks ?? 0);
  if (chart.told?.count <= data.clicks) heard(chart);
  chart.config = data.config;
  box.dataset.part = data.part;
  box.setAttribute("aria-label", data.about);
  const same = chart.clicks === data.clicks && chart.colour === getComputedStyle(box).color && chart.size;
  if (given(chart, data.figure, !same)) {
    chart.clicks = data.clicks;
    fit(box, chart);
    ask(box);
  }
  return () => end(box);
}

// Take a figure; whether it is to be drawn. One that is drawn `anew` is read anew: what was clicked stands in the old one.
function given(chart, source, anew = false) {
  if (chart.source === source && !anew) return false;
  chart.source = source;
  chart.figure = JSON.parse(source);
  return true;
}

// What the fast lane brings: drawn in this very task where a chart is there already, in the size and colours that it has, for
// to measure them anew would lay out the whole page once more. `seen`: whether it is in sight.
function turned(box, { part, seen }) {
  const chart = charts.get(box);
  if (!chart || !given(chart, part)) return;
  if (!window.Plotly || !chart.size || !seen || document.fullscreenElement) return ask(box);
  due.delete(box);
  draw(window.Plotly, box, chart);
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

// As high as the figure says, or as the screen.
function fit(box, chart) {
  box.style.height = document.fullscreenElement?.contains(box) ? "100vh" : `${chart.figure.layout.height}px`;
}

function end(box) {
  if (box.isConnected) return; // overtaken, not gone
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
  if (!drawing) drawAll(box.dataset.plotly);
}

async function drawAll(source) {
  drawing = true;
  try {
    const plotly = await (loading ??= load(source));
    while (due.size) {
      const box = next();
      due.delete(box);
      await drawn(plotly, box);
      await new Promise((resolve) => setTimeout(resolve)); // the browser shows it, and hears what was pressed meanwhile
    }
  } catch (error) {
    console.error("A chart could not be drawn.", error);
    for (const box of due) failed(box);
    due.clear();
  } finally {
    drawing = false;
  }
}

function load(source) {
  return new Promise((resolve, reject) => {
    const script = document.createElement("script");
    script.src = source;
    script.onload = () => resolve(window.Plotly);
    script.onerror = () => {
      loading = undefined;
      reject(new Error(`${source} was not served.`));
    };
    document.head.append(script);
  });
}

function next() {
  const inOrder = [...due].sort((a, b) => (a.compareDocumentPosition(b) & Node.DOCUMENT_POSITION_FOLLOWING ? -1 : 1));
  return inOrder.find(inSight) ?? inOrder[0];
}

function inSight(box) {
  const { top, bottom } = box.getBoundingClientRect();
  return bottom > 0 && top < window.innerHeight;
}

async function drawn(plotly, box) {
  const chart = charts.get(box);
  if (!box.clientWidth) return; // not shown: its size is heard of when it is
  const fresh = !chart.size;
  fit(box, chart);
  chart.size = sizeOf(box);
  chart.colour = getComputedStyle(box).color;
  if (fresh) box.replaceChildren();
  const size = { width: box.clientWidth, height: box.clientHeight };
  chart.drawnWith = { ...size, template: { layout: looks(box) } };
  if ((await draw(plotly, box, chart)) && fresh) listen(box, chart, chart.figure.layout);
}

// Draw a chart as it is now, in the size and colours of the last time that they were measured; whether it could be drawn.
async function draw(plotly, box, chart) {
  const { data, layout } = chart.figure;
  box.dataset.due = "";
  try {
    await plotly.react(box, data, { ...layout, ...chart.drawnWith }, chart.config);
  } catch (error) {
    if (!charts.has(box)) return false; // it was taken away meanwhile
    console.error("A chart could not be drawn.", error);
    failed(box);
    return false;
  }
  if (!due.has(box)) delete box.dataset.due;
  return true;
}

// What is left of the chart goes; a later figure begins anew.
function failed(box) {
  window.Plotly?.purge(box);
  charts.get(box).size = "";
  box.textContent = "This chart could not be drawn. It is tried again when it changes, or when the page is reloaded.";
  delete box.dataset.due;
}

// A point's customdata is its name. Where points stay selected, to let one go is to choose none.
function listen(box, chart, layout) {
  const name = (event) => [event?.points?.[0]?.customdata ?? ""].flat()[0];
  if (layout.clickmode === "event+select") {
    box.on("plotly_selected", (event) => event && choose(chart, name(event)));
    box.on("plotly_deselect", () => choose(chart, ""));
  } else {
    box.on("plotly_click", (event) => name(event) && choose(chart, name(event)));
  }
}

// Tell the page host which point was clicked, until it says that it has heard it: one of many messages may be overtaken.
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

// Text, lines and font as the page has them, in light and in dark.
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
