// Help texts of `[data-help]`: one box for the page, beside the element under the mouse or in focus. Escape closes it.

const tip = (window.wayfareTip ??= begunTip());

function begunTip() {
  const box = element("div", { className: "wayfare-tip", role: "tooltip", hidden: true, id: "wayfare-tip" });
  document.body.append(box);
  const on = (event) => {
    const about = event.target.closest?.("[data-help]");
    about ? showTip(box, about.dataset.help, about.getBoundingClientRect(), about) : (box.hidden = true);
  };
  document.addEventListener("mouseover", on);
  document.addEventListener("focusin", on);
  document.addEventListener("keydown", (event) => event.key === "Escape" && (box.hidden = true));
  document.addEventListener("scroll", () => (box.hidden = true), { capture: true, passive: true });
  return box;
}

function showTip(box, text, at, about) {
  box.textContent = text;
  box.hidden = false;
  const style = getComputedStyle(about);
  for (const name of ["background-color", "text-color", "border-color", "font", "base-radius"]) {
    box.style.setProperty(`--st-${name}`, style.getPropertyValue(`--st-${name}`));
  }
  const { width, height } = box.getBoundingClientRect();
  const below = at.bottom + 6 + height < innerHeight;
  box.style.left = `${Math.max(6, Math.min(at.left, innerWidth - width - 6))}px`;
  box.style.top = `${below ? at.bottom + 6 : Math.max(6, at.top - height - 6)}px`;
}
