// The first minute: the next step, until all are done or the guide is closed. The state is kept in this browser.

const PLACE = "wayfare-first-minute"; // the number of finished steps; OVER: not shown any more
const OVER = 3;

export default function ({ data, parentElement }) {
  const host = parentElement.querySelector(".wayfare-guide");
  if (data.asked) reach(1);
  host.dataset.calls = data.calls;
  host.steps = data.steps;
  draw(host);
}

document.addEventListener("wayfare-turned", () => reach(2));
document.addEventListener("click", ({ target }) => {
  const host = document.querySelector(".wayfare-guide");
  if (host?.dataset.calls && target.closest?.(`${host.dataset.calls} button`)) reach(OVER);
});

const done = () => Number(stored() ?? 0);

// A browser without storage shows it with each page.
function stored(value) {
  try {
    if (value !== undefined) localStorage.setItem(PLACE, value);
    return localStorage.getItem(PLACE);
  } catch {
    return (window.wayfareFirstMinute = value ?? window.wayfareFirstMinute);
  }
}

// The steps have an order: a call is the last step.
function reach(step) {
  if (done() >= step) return;
  stored(step);
  document.querySelectorAll(".wayfare-guide").forEach(draw);
}

function draw(host) {
  const reached = done();
  host.hidden = reached >= OVER;
  if (host.hidden || !host.steps) return;
  const steps = host.steps.map(([verb, rest], place) => {
    const step = Object.assign(document.createElement("span"), { className: "wayfare-guide-step" });
    const lead = Object.assign(document.createElement("b"), { textContent: `${place < reached ? "✓" : place + 1} ${verb}` });
    step.append(lead, ` ${rest}`);
    step.dataset.state = place < reached ? "done" : place === reached ? "next" : "later";
    if (place === reached) step.setAttribute("aria-current", "step");
    return step;
  });
  const away = Object.assign(document.createElement("button"), { type: "button", textContent: "×", onclick: () => reach(OVER) });
  away.title = "Do not show this again";
  away.setAttribute("aria-label", "Do not show the first minute again");
  host.replaceChildren(...steps, away);
}
