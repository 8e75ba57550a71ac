// Calls that wait for a person, on every page: a number at Govern, at its group and in the title, and a desktop notification if
// the visitor allowed it. The address /waiting tells how many there are; it needs the same sign-in as the pages.
// While nothing answers there, the page says that the console is away.
// A page that was open when the console was started again is loaded anew: its new session knows only the address. A view that asks
// is not: it takes its question from the open page, and a load would lose a question that is typed while the console is slow to answer.

const VISIBLE_MS = 3_000, HIDDEN_MS = 10_000;
const notified = new Set();
const ASKS = '[aria-label="What is needed?"]';
let started;

const show = ({ waiting, words }) => {
  const root = document.documentElement;
  root.style.setProperty("--wayfare-waiting", `"${waiting}"`);
  root.style.setProperty("--wayfare-waiting-words", `", ${words}"`); // read aloud
  root.toggleAttribute("data-wayfare-waiting", waiting > 0);
  document.title = (waiting ? `(${waiting}) ` : "") + document.title.replace(/^\(\d+\) /, "");
};

const notify = ({ number, text }) => {
  if (!number || notified.has(number) || window.Notification?.permission !== "granted") return;
  notified.add(number);
  const shown = new Notification("Wayfare", { body: text, tag: `wayfare-${number}` }); // one tag: several tabs show it once
  shown.onclick = () => (window.focus(), (location.href = "./govern"));
};

const away = Object.assign(document.createElement("div"), { className: "wayfare-away", role: "alert" });
document.body.append(away);
const isAway = (gone) => {
  if (!document.documentElement.toggleAttribute("data-wayfare-away", gone)) return (away.textContent = "");
  away.textContent ||= "Wayfare does not answer: it was stopped, or it starts again. What you see stays, and the page goes on once it answers.";
};

const look = async () => {
  try {
    const answer = await fetch("./waiting", { cache: "no-store" });
    isAway(false);
    if (answer.ok) {
      const state = await answer.json();
      const again = started && started !== state.started;
      if (again && !document.querySelector(ASKS) && !document.activeElement?.value) location.reload();
      started = state.started;
      show(state);
      notify(state);
    }
  } catch (error) {
    if (error instanceof TypeError) isAway(true); // no answer at all
  }
  setTimeout(look, document.hidden ? HIDDEN_MS : VISIBLE_MS);
};

document.addEventListener("click", (event) => {
  if (event.target.closest?.(".st-key-govern-notify")) window.Notification?.requestPermission();
}, true);
look();
