// A part of the page that is our own HTML. An answer of the fast lane is shown at once. Equal text is not set again.

export default function ({ data, parentElement }) {
  const box = parentElement.querySelector(".wayfare-live");
  if (!box.dataset.part) box.addEventListener("wayfare-part", (event) => show(box, event.detail.part));
  Object.assign(box.dataset, { part: data.part, lane: data.lane });
  show(box, data.html);
  document.dispatchEvent(new CustomEvent("wayfare-shown", { detail: data.part }));
}

function show(box, html) {
  if (box.shown === html) return;
  box.shown = html;
  box.innerHTML = html;
}
