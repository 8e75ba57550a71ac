// What several components need of the page.

function element(tag, properties = {}, ...children) {
  const node = Object.assign(document.createElement(tag), properties);
  node.append(...children);
  return node;
}

function inSight(box) {
  const { top, bottom } = box.getBoundingClientRect();
  return bottom > 0 && top < innerHeight;
}

const drawing = () => document.querySelector(".wayfare-chart[data-due]");

// The text under a key of `localStorage` or `sessionStorage`, after it was set to `value` if there is one. A browser without storage
// keeps it with the page.
function kept(storage, key, value) {
  try {
    if (value !== undefined) window[storage].setItem(key, value);
    return window[storage].getItem(key);
  } catch {
    return (window[key] = value ?? window[key]);
  }
}
