"use strict";

// Keeps a page current. The markup says which parts (data-sse-swap) and htmx's extension swaps
// them; this file keeps the stream open, says in words when it is lost, and merges lists without
// taking anything away from under the reader. Without it the page stands as it was loaded.
(() => {
  const root = document.querySelector("[data-sse-connect]");
  if (!root || !window.EventSource) return;

  const RETRY = 3000;
  const RETRY_MOST = 60000;
  const LOST_AFTER = 10000;
  const SEATS = 4;  // streams of one browser: two of its six connections stay free for pages
  const SEEN_AFTER = 1500;
  const LETTERS = {
    admitted: "a", in_flight_full: "f", paused: "p", admission_unavailable: "u",
    window_exhausted: "w", none: "n",
  };
  const byId = (id) => document.getElementById(id);
  const jitter = (most) => Math.random() * most;

  // ---- What is said about the stream itself -------------------------------------------------

  const region = byId("live");
  const say = (text) => {
    const line = document.createElement("p");
    line.textContent = text;
    region.replaceChildren(line);
  };

  // ---- Which state each sentence on the page names -------------------------------------------

  const told = new Map();
  const stateOf = (id) => {
    const tag = document.querySelector(`#q-${id}-live .tag`);
    const name = tag && [...tag.classList].find((one) => one.startsWith("tag--"));
    return name ? name.slice("tag--".length) : "none";
  };
  const queueOf = (name, kind) => name.startsWith(kind) ? name.slice(kind.length) : null;
  for (const live of document.querySelectorAll(".q-live")) {
    const id = live.id.slice("q-".length, -"-live".length);
    told.set(id, stateOf(id));
  }

  // ---- The stream ------------------------------------------------------------------------------

  // One of a few places for this browser, so that any number of windows still load. Without locks
  // (plain http to another host) hidden pages still give their connection back.
  const take = (name, options) => new Promise((resolve, reject) => {
    navigator.locks.request(name, options, (lock) =>
      lock ? new Promise((release) => resolve(release)) : resolve(null)).catch(reject);
  });
  const seat = async (signal, onFull) => {
    if (!navigator.locks) return () => {};
    for (let number = 0; number < SEATS; number++) {
      const release = await take(`live-${number}`, {ifAvailable: true});
      if (release) return release;
    }
    onFull();
    // The first place that comes free, whichever it is.
    return new Promise((resolve, reject) => {
      const others = new AbortController();
      let isDone = false;
      signal.addEventListener("abort", () => { others.abort(); reject(signal.reason); });
      for (let number = 0; number < SEATS; number++) {
        take(`live-${number}`, {signal: others.signal}).then((release) => {
          if (isDone || signal.aborted) { release(); return; }
          isDone = true;
          others.abort();
          resolve(release);
        }, () => {});
      }
    });
  };

  // What htmx's extension takes for an EventSource. Its listeners stay while the connection below
  // comes and goes: it closes while the page is hidden, and a lost one is opened again here.
  class Stream extends EventTarget {
    constructor(url) {
      super();
      this.url = url;
      this.readyState = EventSource.CONNECTING;
      this.names = new Set();
      this.isAgain = false;
      this.isOver = false;
      this.failures = 0;
      this.saidLost = false;
      document.addEventListener("visibilitychange", () => this.look());
      window.addEventListener("pagehide", () => this.drop());
      window.addEventListener("pageshow", (event) => event.persisted && this.look());
      this.look();
    }

    addEventListener(name, listener, options) {
      super.addEventListener(name, listener, options);
      if (this.names.has(name)) return;
      this.names.add(name);
      if (this.source) this.relay(name);
    }

    relay(name) {
      this.source.addEventListener(name, (event) =>
        this.dispatchEvent(new MessageEvent(name, {data: event.data})));
    }

    // Open when the page can be seen, closed when it cannot.
    look() {
      if (this.isOver) return;
      if (document.hidden) this.drop();
      else if (!this.wanted) this.open();
    }

    async open() {
      const wanted = this.wanted = new AbortController();
      this.startClock();
      const full = () => { this.stopClock(); say(TOO_MANY); this.saidLost = true; };
      let release;
      try {
        release = await seat(wanted.signal, full);
      } catch {
        return;  // the page was hidden while it waited
      }
      if (wanted.signal.aborted) { release(); return; }
      this.release = release;
      this.connect();
    }

    connect() {
      this.source = new EventSource(this.address());
      for (const name of this.names) this.relay(name);
      this.source.addEventListener("live", () => this.opened());
      this.source.addEventListener("not-live", () => this.refused());
      for (const name of ["paused", "signed-out"]) {
        this.source.addEventListener(name, () => this.close());
      }
      this.source.onerror = () => this.failed();
    }

    opened() {
      this.readyState = EventSource.OPEN;
      this.failures = 0;
      this.stopClock();
      if (this.saidLost) say("Live again");
      this.saidLost = false;
      if (this.isAgain) refresh();
      this.isAgain = true;
      if (this.onopen) this.onopen();
    }

    // The server has no room: it said so in words, which the page shows. Ask again, seldom.
    refused() {
      this.stopClock();
      this.saidLost = true;
      this.failures = Infinity;
    }

    failed() {
      if (!this.source) return;
      this.source.close();
      this.source = null;
      this.readyState = EventSource.CONNECTING;
      const wait = Math.min(RETRY * 2 ** this.failures, RETRY_MOST);
      this.failures += 1;
      this.startClock();
      this.timer = setTimeout(() => this.connect(), wait + jitter(wait / 2));
    }

    // "Lost" is said once, and only when it lasts.
    startClock() {
      if (this.clock || this.saidLost) return;
      this.clock = setTimeout(() => {
        say("Live updates lost, retrying");
        this.saidLost = true;
      }, LOST_AFTER);
    }

    stopClock() {
      clearTimeout(this.clock);
      this.clock = null;
    }

    drop() {
      if (this.wanted) this.wanted.abort();
      this.wanted = null;
      clearTimeout(this.timer);
      this.stopClock();
      if (this.source) this.source.close();
      this.source = null;
      // The server sees a closed connection a moment later; until then the place is taken.
      if (this.release) setTimeout(this.release, SEEN_AFTER);
      this.release = null;
    }

    close() {
      this.isOver = true;
      this.readyState = EventSource.CLOSED;
      this.drop();
    }

    address() {
      const url = new URL(this.url, location.href);
      const states = [...told].filter(([, state]) => state in LETTERS)
        .map(([id, state]) => id + LETTERS[state]).join(".");
      // A request's line is bounded; without the states a change while away is said by its count.
      if (states && states.length < 3000) url.searchParams.set("told", states);
      if (this.isAgain) url.searchParams.set("again", "yes");
      return url.href;
    }
  }
  const TOO_MANY = "Live updates are off here: they run in other windows. Close one of those, or " +
    "load this page again to see the latest figures.";

  htmx.createEventSource = (url) => {
    const stream = new Stream(url);
    stream.addEventListener("resync", () => setTimeout(refresh, jitter(1000)));
    return stream;
  };

  // ---- What arrives ------------------------------------------------------------------------------

  const touched = new Map();  // when each part was last given by the stream
  document.addEventListener("htmx:sseBeforeMessage", (event) => {
    const {type, data} = event.detail;
    touched.set(type, performance.now());
    const cards = queueOf(type, "cards-");
    if (cards) {
      event.preventDefault();
      merge(fragment(data));
      return;
    }
    const sentence = queueOf(type, "say-");
    if (sentence) told.set(sentence, stateOf(sentence));
    const shown = sentence ? event.target.textContent : event.target.innerHTML;
    // The same words put in again may be said again, or be silent: leave what stands.
    if (shown.trim() === data.trim()) event.preventDefault();
  });
  document.addEventListener("htmx:sseMessage", (event) => {
    const id = queueOf(event.detail.type, "counts-");
    if (id) offerFigures(id);
  });

  // The link to the current figures stands while there are figures: a queue that has lost its
  // budget has none, and hands the focus to its name.
  const offerFigures = (id) => {
    const link = byId(`q-${id}-now`);
    if (!link) return;
    const isEmpty = !byId(`q-${id}-fig`).textContent.trim();
    if (isEmpty && document.activeElement === link) byId(`q-${id}-page`).focus();
    link.hidden = isEmpty;
  };

  const fragment = (markup) => {
    const template = document.createElement("template");
    template.innerHTML = markup;
    return template.content;
  };

  const merge = (parts) => {
    for (const fresh of [...parts.children]) {
      const there = byId(fresh.id);
      if (!there) continue;
      if (there.localName === "ul") offer(there, fresh);
      else morph(there, fresh);
    }
  };

  // ---- Loading the page afresh, without losing the place ------------------------------------------

  let isRefreshing = false;
  let isDue = false;
  const refresh = async () => {
    if (isRefreshing) { isDue = true; return; }
    isRefreshing = true;
    isDue = false;
    const since = performance.now();
    try {
      const answer = await fetch(location.href, {headers: {"X-Refresh": "yes"}});
      if (answer.ok && !answer.redirected) {
        apply(new DOMParser().parseFromString(await answer.text(), "text/html"), since);
      }
    } catch {
      // The stream's own retry tells when the server is back, and asks again.
    }
    isRefreshing = false;
    if (isDue) refresh();
  };

  const PARTS = "[data-sse-swap^='counts-'], [data-sse-swap^='cards-']";
  const names = (page) => [...page.querySelectorAll(".q-name, .q-live")].map((one) =>
    one.id || one.querySelector("[id]")?.id).sort().join(" ");
  const apply = (page, since) => {
    for (const there of document.querySelectorAll(PARTS)) {
      const name = there.dataset.sseSwap;
      const fresh = page.querySelector(`[data-sse-swap="${name}"]`);
      if (!fresh || (touched.get(name) || 0) > since) continue;
      const id = queueOf(name, "counts-");
      if (id) {
        there.replaceChildren(...fresh.cloneNode(true).childNodes);
        const [figures, now] = [byId(`q-${id}-fig`), page.getElementById(`q-${id}-fig`)];
        if (figures && now) figures.textContent = now.textContent;
        offerFigures(id);
        const [edit, other] = [byId(`q-${id}-edit`), page.getElementById(`q-${id}-edit`)];
        if (edit && other) morph(edit, other);  // "Add budget" or "Edit budget"
      } else {
        const number = queueOf(name, "cards-");
        const parts = ["todos", "cards", "links"].map((part) =>
          page.getElementById(`q-${number}-${part}`)).filter(Boolean);
        merge({children: parts.map((part) => document.importNode(part, true))});
      }
    }
    if (names(page) !== names(document)) tellChanged();
  };

  // Sections are never put in or taken out under the reader: a link says that they differ.
  const tellChanged = () => {
    const changed = byId("live-changed");
    if (changed.firstChild) return;
    const line = document.createElement("p");
    const link = document.createElement("a");
    link.id = "live-reload";
    link.href = location.pathname + location.search;
    link.textContent = "Load the page again";
    line.append("The queues on this page have changed. ", link);
    changed.append(line);
  };

  // ---- Lists: held while the reader is busy in them, and merged around the focus -------------------

  const waiting = new Map();  // list id -> the newest list that waits
  const BUSY = "input[type=checkbox]:checked, details[open], [aria-expanded=true]";
  const isBusy = (list) => {
    const place = list.closest("section") || list;
    if (place.querySelector(BUSY)) return true;
    const selection = document.getSelection();
    return !!selection && !selection.isCollapsed && selection.rangeCount > 0 &&
      selection.getRangeAt(0).intersectsNode(place);
  };

  const offer = (list, fresh) => {
    if (isBusy(list)) waiting.set(list.id, fresh);
    else { waiting.delete(list.id); settle(list, fresh); }
    tellWaiting(list);
  };

  const settleWaiting = () => {
    for (const [id, fresh] of [...waiting]) {
      const list = byId(id);
      if (list && isBusy(list)) continue;
      waiting.delete(id);
      if (list) { settle(list, fresh); tellWaiting(list); }
    }
  };
  for (const name of ["selectionchange", "change", "toggle", "click"]) {
    document.addEventListener(name, () => waiting.size && setTimeout(settleWaiting), true);
  }

  const itemOf = (list, id) => id ? list.querySelector(`:scope > #${CSS.escape(id)}`) : null;
  const looks = (item) => item.textContent.replace(/\s+/g, " ").trim();
  const differences = (list, fresh) => {
    const gone = [...list.children].filter((item) => !itemOf(fresh, item.id));
    const other = [...fresh.children].filter((item) => {
      const there = itemOf(list, item.id);
      return !there || looks(there) !== looks(item);
    });
    return gone.length + other.length;
  };
  const tellWaiting = (list) => {
    if (!list.id.endsWith("-cards")) return;
    const id = list.id.replace(/-cards$/, "-held");
    const fresh = waiting.get(list.id);
    const number = fresh ? differences(list, fresh) : 0;
    if (!number) { byId(id)?.remove(); return; }
    let line = byId(id);
    if (!line) {
      line = document.createElement("p");
      line.id = id;
      line.className = "held";
      list.before(line);
    }
    line.textContent = number === 1 ? "1 change waiting" : `${number} changes waiting`;
  };

  const settle = (list, fresh) => {
    const before = document.activeElement;
    const was = list.contains(before) ? before.closest("li") : null;
    if (!list.id.endsWith("-cards")) {
      const next = was && was.nextElementSibling;
      morph(list, fresh);
      if (was && document.activeElement !== before) refocus(list, was, next);
      return;
    }
    for (const item of [...list.children]) {
      if (!itemOf(fresh, item.id)) leave(item);
    }
    let place = list.firstElementChild;
    for (const wanted of [...fresh.children]) {
      const item = itemOf(list, wanted.id);
      // A card that is about to leave keeps its place too, so that nothing moves under the focus.
      while (place && place !== item && place.classList.contains("card--gone")) {
        place = place.nextElementSibling;
      }
      if (!item) {
        const made = document.importNode(wanted, true);
        list.insertBefore(made, place);
        htmx.process(made);
        continue;
      }
      // Moving an element would take the focus from what is inside it.
      if (item === place || item.contains(document.activeElement)) place = item.nextElementSibling;
      else list.insertBefore(item, place);
      stay(item);
      morph(item, wanted);
    }
    if (was && document.activeElement !== before) refocus(list, was, was.nextElementSibling);
  };

  // A card that goes while it has the focus stays until the focus leaves it.
  const leave = (item) => {
    if (!item.contains(document.activeElement)) { item.remove(); return; }
    if (item.classList.contains("card--gone")) return;
    item.classList.add("card--gone");
    const note = document.createElement("p");
    note.className = "card-gone";
    note.textContent = "No longer in this list";
    item.append(note);
    item.addEventListener("focusout", () => setTimeout(() => {
      if (item.classList.contains("card--gone") && !item.contains(document.activeElement)) {
        item.remove();
      }
    }));
  };
  const stay = (item) => {
    item.classList.remove("card--gone");
    item.querySelector(":scope > .card-gone")?.remove();
  };

  // What had the focus is gone: its own item's link, else the next one's, else the queue's name.
  const refocus = (list, item, next) => {
    if (document.activeElement && document.activeElement !== document.body) return;
    const heading = byId(list.id.replace(/-(cards|links)$/, "-page"));
    const items = [item, next, list.lastElementChild];
    const left = items.find((one) => one && one.isConnected && one.querySelector("a[href]"));
    const target = left ? left.querySelector("a[href]") : heading;
    if (target) target.focus();
  };

  // Makes one element look like another and touches nothing that is the same already.
  const kind = (node) => node.nodeType === Node.ELEMENT_NODE
    ? `${node.localName} ${node.id} ${node.getAttribute("class") || ""}` : node.nodeName;
  const partsOf = (node) => [...node.childNodes].filter((one) =>
    one.nodeType === Node.ELEMENT_NODE || (one.data || "").trim());
  const morph = (there, fresh) => {
    if (there.nodeType !== Node.ELEMENT_NODE) {
      if (there.data !== fresh.data) there.data = fresh.data;
      return;
    }
    for (const {name} of [...there.attributes]) {
      if (!fresh.hasAttribute(name)) there.removeAttribute(name);
    }
    for (const {name, value} of fresh.attributes) {
      if (there.getAttribute(name) !== value) there.setAttribute(name, value);
    }
    const old = partsOf(there);
    let at = 0;
    for (const wanted of partsOf(fresh)) {
      let found = at;
      while (found < old.length && kind(old[found]) !== kind(wanted)) found += 1;
      if (found === old.length) {
        there.insertBefore(document.importNode(wanted, true), old[at] || null);
        continue;
      }
      for (; at < found; at += 1) old[at].remove();
      morph(old[at], wanted);
      at += 1;
    }
    for (; at < old.length; at += 1) old[at].remove();
  };
})();
