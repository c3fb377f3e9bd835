"use strict";

// What a page says and offers beyond its markup. Everything here is an extra: without it each
// page and each form works.
(() => {
  const zone = Intl.DateTimeFormat().resolvedOptions().timeZone || "";

  // The browser's zone goes with the sign-in form, or by itself for someone who has none set.
  for (const input of document.querySelectorAll("[data-browser-zone]")) input.value = zone;
  const offer = document.getElementById("zone-offer");
  if (offer && zone) {
    fetch(offer.action, {
      method: "POST", body: new URLSearchParams(new FormData(offer)), keepalive: true,
    }).catch(() => {});
  }

  // A status that stands in the page when it loads is not reliably spoken: say it once more.
  const say = (text, id = "said") => {
    const line = document.createElement("p");
    line.textContent = text;
    document.getElementById(id).replaceChildren();
    setTimeout(() => document.getElementById(id).replaceChildren(line), 150);
  };
  const flash = document.getElementById("flash");
  if (flash) say(flash.textContent);

  // A redirect moves the focus to its fragment; a reload, after an act on this very page, does not.
  const aim = document.getElementById(location.hash.slice(1));
  const [arrival] = performance.getEntriesByType("navigation");
  if (aim && arrival && arrival.type === "reload" && document.activeElement === document.body) {
    aim.focus();
  }

  // A whole page that htmx has put in the place of this one is no page load: nothing is read out and
  // the focus is lost with what had it. What was refused takes it, otherwise the heading.
  document.addEventListener("htmx:afterSettle", (event) => {
    if (event.detail.target !== document.body) return;
    const first = document.querySelector("#main .summary") || document.getElementById("heading");
    first.tabIndex = -1;
    first.focus();
  });

  // An answer that is not shown in the page is told in words, so that no button seems dead.
  document.addEventListener("htmx:responseError", () =>
    say("Something went wrong on the server. Load the page again to see what was done."));
  document.addEventListener("htmx:sendError", () =>
    say("The server could not be reached. Load the page again to see what was done."));

  // A secret shown once: select it whole, copy it, say that it was copied; the focus stays.
  for (const input of document.querySelectorAll("[data-select-all]")) {
    input.addEventListener("focus", () => input.select());
  }
  for (const button of document.querySelectorAll("[data-copy]")) {
    const input = document.getElementById(button.dataset.copy);
    const status = `${input.id}-copied`;
    if (!navigator.clipboard) continue;
    button.hidden = false;
    button.addEventListener("click", () => {
      navigator.clipboard.writeText(input.value).then(
        () => say("Copied", status),
        () => say("The browser did not allow copying. Select the text and copy it.", status));
    });
  }
})();
