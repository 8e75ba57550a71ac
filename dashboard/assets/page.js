// Back and Forward step between actions of the visitor. The page host adds an address to the history for a page, and another one
// when the page has written its state. The second one replaces the first unless the visitor acted in between.

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
