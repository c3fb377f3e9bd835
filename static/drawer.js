// One todo beside the list: a region that is not modal. htmx fetches it; here is only where the
// focus goes. Without this file the links are links (accessibility.md 4.5, D1 to D6).
(() => {
  "use strict";

  const drawer = () => document.getElementById("todo-drawer");
  let rows = []; // the ids of the opener's link and of the links after it, as they were at opening

  const isOpen = () => Boolean(drawer() && drawer().firstElementChild);

  const remember = (opener) => {
    const links = Array.from(document.querySelectorAll("a[data-drawer]"), (link) => link.id);
    const at = links.indexOf(opener);
    rows = at < 0 ? [opener] : links.slice(at).concat(links.slice(0, at).reverse());
  };

  const close = () => {
    drawer().replaceChildren();
    const next = rows.map((id) => document.getElementById(id)).find(Boolean);
    (next || document.getElementById("found")).focus();
  };

  // A click that asks for a new tab or window is a link's own.
  document.addEventListener("click", (event) => {
    const link = event.target.closest("a[data-drawer]");
    const isPlain = !(event.ctrlKey || event.metaKey || event.shiftKey || event.altKey);
    if (link && (!isPlain || event.button !== 0)) {
      event.stopPropagation();
    }
  }, true);

  document.addEventListener("click", (event) => {
    if (event.target.closest("[data-drawer-close]")) {
      close();
    }
  });

  document.addEventListener("keydown", (event) => {
    const isOurs = isOpen() && (drawer().contains(document.activeElement)
      || document.activeElement === document.body);
    if (event.key === "Escape" && isOurs && !event.defaultPrevented) {
      close();
    }
  });

  document.addEventListener("htmx:afterSettle", (event) => {
    if (!drawer() || event.detail.target !== drawer()) {
      return;
    }
    const region = drawer().firstElementChild;
    if (!region) {
      return;
    }
    const opener = region.getAttribute("data-drawer-of");
    if (opener && rows[0] !== opener) {
      remember(opener);
    }
    // What was refused takes the focus, otherwise the heading names what has opened.
    const first = region.querySelector(".summary") || region.querySelector("h2");
    first.focus();
  });
})();
