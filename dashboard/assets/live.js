// A part of the page that is HTML of ours. What arrives by the fast lane is shown at once; the same text is not set twice.

export default function ({ data, parentElement }) {
  const box = parentElement.querySelector(".wayfare-live");
  if (!box.dataset.part) box.addEventListener("wayfare-part", (event) => show(box, event.detail.part));
  box.dataset.part = data.part;
  show(box, data.html);
  document.dispatchEvent(new CustomEvent("wayfare-shown", { detail: data.part }));
}

function show(box, html) {
  if (box.shown === html) return;
  box.shown = html;
  box.innerHTML = html;
}
