// Back and Forward are steps between what the visitor did. The page host puts an address into the history for a page, and another one
// once that page has said what it shows: the second takes the place of the first, as long as nobody has touched the page between them.

if (!window.wayfareAddresses) {
  const push = history.pushState.bind(history);
  const { pathname } = location;
  const known = (window.wayfareAddresses = { pathname, touched: false });
  for (const kind of ["pointerdown", "keydown", "click"]) {
    document.addEventListener(kind, () => (known.touched = true), true);
  }
  addEventListener("popstate", () => Object.assign(known, { pathname: location.pathname, touched: false }));
  history.pushState = (state, title, address) => {
    const same = new URL(address, location).pathname === known.pathname;
    if (same && !known.touched) return history.replaceState(state, title, address);
    push(state, title, address);
    if (!same) Object.assign(known, { pathname: location.pathname, touched: false });
  };
}
