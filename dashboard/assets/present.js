// A decision to present from: a dialog over the whole window, one step at a time. Arrow keys, Page keys and Space turn, Escape closes.
// The page below stays laid out, so that its charts are drawn.

const given = new WeakMap(); // the steps, by button

export default function ({ data, parentElement }) {
  const button = parentElement.querySelector(".wayfare-present-open");
  given.set(button, data.steps);
  button.onclick = () => open(button);
}

function open(button) {
  const steps = given.get(button);
  let place = 0;
  const made = (tag, properties) => Object.assign(document.createElement(tag), properties);
  const dialog = made("dialog", { className: "wayfare-present" });
  dialog.setAttribute("role", "dialog");
  dialog.setAttribute("aria-label", "The decision, step by step");
  const title = made("h2", { tabIndex: -1 });
  const body = made("div", { className: "wayfare-present-body" });
  const [back, next, close] = ["← Back", "Next →", "Close"].map((textContent) => made("button", { type: "button", textContent }));
  const where = made("span");
  const turn = (to) => {
    place = Math.min(steps.length - 1, Math.max(0, to));
    title.textContent = steps[place].title;
    body.innerHTML = steps[place].html;
    body.scrollTop = 0;
    where.textContent = `${place + 1} of ${steps.length}`;
    back.style.visibility = place ? "" : "hidden";
    next.style.visibility = place < steps.length - 1 ? "" : "hidden";
    title.focus(); // the step is read out, and no button is left that has gone
  };
  back.onclick = () => turn(place - 1);
  next.onclick = () => turn(place + 1);
  close.onclick = () => dialog.close();
  const bar = made("footer", {});
  bar.append(back, where, next, close);
  dialog.append(title, body, bar);
  dialog.addEventListener("keydown", (event) => {
    const by = { ArrowRight: 1, ArrowDown: 1, PageDown: 1, " ": 1, ArrowLeft: -1, ArrowUp: -1, PageUp: -1 }[event.key];
    const to = by ? place + by : { Home: 0, End: steps.length - 1 }[event.key];
    event.stopPropagation(); // the keys of the page rest
    if (to === undefined || (event.key === " " && event.target.matches("button"))) return;
    event.preventDefault();
    turn(to);
  });
  dialog.addEventListener("close", () => {
    dialog.remove();
    button.focus();
  });
  button.after(dialog);
  dialog.showModal();
  turn(0);
}
