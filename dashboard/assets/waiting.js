// Calls that wait for a person, on every page: a badge at Govern, a number in the title, and a desktop notification where the
// visitor allowed it. The address /waiting tells how many there are; it needs the same sign-in as the pages.

if (!window.wayfareWaiting) {
  const VISIBLE_MS = 3_000, HIDDEN_MS = 10_000, GOVERN = '[data-testid="stTopNavLink"][href$="/govern"]';
  const told = new Set();
  window.wayfareWaiting = true;

  const pill = () => {
    const known = document.querySelector(".wayfare-waiting");
    if (known) return known;
    const made = document.createElement("a");
    made.className = "wayfare-waiting";
    made.href = "/govern";
    return document.body.appendChild(made);
  };

  const show = ({ waiting, words }) => {
    const root = document.documentElement;
    root.style.setProperty("--wayfare-waiting", `"${waiting}"`);
    root.toggleAttribute("data-wayfare-waiting", waiting > 0);
    document.title = (waiting ? `(${waiting}) ` : "") + document.title.replace(/^\(\d+\) /, "");
    const link = document.querySelector(GOVERN); // in a narrow window it is folded away
    pill().textContent = words;
    pill().hidden = !waiting || Boolean(link?.checkVisibility({ visibilityProperty: true, opacityProperty: true }));
  };

  const notify = ({ number, text }) => {
    if (!number || told.has(number) || window.Notification?.permission !== "granted") return;
    told.add(number);
    const shown = new Notification("Wayfare", { body: text, tag: `wayfare-${number}` }); // one tag: several tabs show it once
    shown.onclick = () => (window.focus(), (location.href = "/govern"));
  };

  const look = async () => {
    try {
      const answer = await fetch("/waiting", { cache: "no-store" });
      if (answer.ok) {
        const found = await answer.json();
        show(found);
        notify(found);
      }
    } catch { /* the console is away; the page says so itself */ }
    setTimeout(look, document.hidden ? HIDDEN_MS : VISIBLE_MS);
  };

  document.addEventListener("click", (event) => {
    if (event.target.closest?.(".st-key-govern-notify")) window.Notification?.requestPermission();
  }, true);
  look();
}
