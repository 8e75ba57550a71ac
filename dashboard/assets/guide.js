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

const done = () => Number(kept("localStorage", PLACE) ?? 0);

// The steps have an order: a call is the last step.
function reach(step) {
  if (done() >= step) return;
  kept("localStorage", PLACE, step);
  document.querySelectorAll(".wayfare-guide").forEach(draw);
}

function draw(host) {
  const reached = done();
  host.hidden = reached >= OVER;
  if (host.hidden || !host.steps) return;
  const steps = host.steps.map(([verb, rest], place) => {
    const lead = element("b", {}, `${place < reached ? "✓" : place + 1} ${verb}`);
    const step = element("span", { className: "wayfare-guide-step" }, lead, ` ${rest}`);
    step.dataset.state = place < reached ? "done" : place === reached ? "next" : "later";
    if (place === reached) step.setAttribute("aria-current", "step");
    return step;
  });
  const about = { title: "Do not show this again", ariaLabel: "Do not show the first minute again" };
  const away = element("button", { type: "button", onclick: () => reach(OVER), ...about }, "×");
  host.replaceChildren(...steps, away);
}
