// Small comforts only: every page works without this file.
(() => {
  "use strict";
  document.documentElement.classList.add("js");

  const toast = document.getElementById("toast");
  let told = 0;
  const say = (words) => {
    toast.textContent = words;
    clearTimeout(told);
    told = setTimeout(() => { toast.textContent = ""; }, 2500);
  };
  // Where the clipboard is closed to us (plain http off loopback), the link itself still opens the text.
  const copy = async (link, text) => {
    try { await navigator.clipboard.writeText(text); say(link.hasAttribute("data-copy-link") ? "Link copied" : "Copied"); } catch { window.location.href = link.href; }
  };
  // This address by the ids that every copy of the store has: the other Inspector finds its own by them.
  const sharedAddress = ({ copyLink, finding }) => {
    const address = new URL(window.location.href);
    if (copyLink) { address.pathname = address.pathname.replace(/^.*?\/conversations\/[^/]+/, copyLink); }
    if (finding) { address.searchParams.set("finding", finding); }
    return address.href;
  };
  const menus = ":is(.account, .menu, .dropdown)[open]";
  document.addEventListener("click", async (event) => {
    const copies = event.target.closest("[data-copies]");
    if (copies) {
      const text = document.getElementById(copies.dataset.copies);
      try { await navigator.clipboard.writeText(text.innerText); say("Copied"); } catch { window.getSelection().selectAllChildren(text); say("Selected: copy it with the keyboard"); }
      return;
    }
    const link = event.target.closest("[data-copy-link], [data-copy-from]");
    if (link && !event.ctrlKey && !event.metaKey) {
      event.preventDefault();
      if (link.hasAttribute("data-copy-link")) { copy(link, sharedAddress(link.dataset)); return; }
      let answer = null;
      try { answer = await fetch(link.dataset.copyFrom); } catch { say("Not copied: Inspector cannot be reached"); return; }
      // Who is no longer signed in is sent elsewhere, and that is not what was to be copied.
      if (answer.ok && !answer.redirected) { copy(link, await answer.text()); } else { window.location.href = link.href; }
    }
    document.querySelectorAll(menus).forEach((menu) => { if (!menu.contains(event.target)) { menu.open = false; } });
    const place = event.target.closest("[data-at]");
    if (place) { window.location.assign(`${place.closest("[data-map]").dataset.map}at=${place.dataset.at}#seq-${place.dataset.at}`); return; }
    const tab = event.target.closest("a[data-stage]");
    const table = document.querySelector("table.cols");
    if (tab && table) {
      event.preventDefault();
      table.dataset.stage = tab.dataset.stage;
      document.querySelectorAll(".stages a").forEach((each) => each.toggleAttribute("aria-current", each === tab));
      history.replaceState(history.state, "", tab.href);
    }
  });

  // An age grows while its page is open or kept by the browser; the title has the moment in the reader's own zone. As `clock.age` counts.
  const units = [[3600, 60, "min"], [86400, 3600, "h"], [30 * 86400, 86400, "d"]];
  const showAges = () => document.querySelectorAll("time[datetime]").forEach((time) => {
    const at = new Date(time.dateTime);
    const seconds = Math.floor((Date.now() - at) / 1000);
    if (Number.isNaN(seconds)) { return; }
    const unit = units.find(([limit]) => seconds > 0 && seconds < limit);
    const coming = units.find(([limit]) => seconds < 0 && -seconds < limit);
    time.title = `${at.toLocaleString(undefined, { dateStyle: "medium", timeStyle: "medium", hourCycle: "h23" })} (${time.dateTime})`;
    if (time.hasAttribute("data-clock")) {
      const today = at.toDateString() === new Date().toDateString();
      time.textContent = at.toLocaleString(undefined, { timeStyle: "short", hourCycle: "h23", ...(today ? {} : { dateStyle: "medium" }) });
      return;
    }
    if (Math.abs(seconds) < 60) { time.textContent = "just now"; } else if (unit) { time.textContent = `${Math.floor(seconds / unit[1])} ${unit[2]} ago`; } else if (coming) { time.textContent = `in ${Math.round(-seconds / coming[1])} ${coming[2]}`; } else if (time.hasAttribute("data-minute")) { time.textContent = at.toLocaleString("sv", { dateStyle: "short", timeStyle: "short" }); }
  });
  showAges();
  document.addEventListener("htmx:afterSettle", showAges);

  // On a phone the tabs of a section are one row, of which the current one is shown.
  const tabs = document.querySelector("nav.pages");
  const current = tabs?.querySelector("[aria-current]");
  if (current) { tabs.scrollLeft = current.offsetLeft - tabs.offsetLeft - 40; }

  // Whether there is anything new, while somebody looks. Of a server that does not answer it is asked less and less often.
  let pause = 0;
  let turns = 0;
  const askForNews = () => {
    const line = document.getElementById("live");
    if (line && window.htmx && document.visibilityState === "visible") { window.htmx.trigger(line, "live"); }
  };
  setInterval(() => { turns += 1; if (turns > pause) { turns = 0; askForNews(); } }, 4000);
  document.addEventListener("visibilitychange", askForNews);
  ["htmx:sendError", "htmx:responseError"].forEach((name) => document.addEventListener(name, (event) => {
    if (event.target.id === "live") { pause = Math.min(2 * pause + 1, 15); }
  }));
  // What htmx asks for and does not get is said, with its address: that is a whole page too. What the page asks for by itself it asks for again.
  const unanswered = document.getElementById("unanswered");
  const waiting = new Map();
  const tell = (words, { pathInfo }) => {
    const again = document.createElement("a");
    again.className = "link";
    again.href = pathInfo.finalRequestPath || pathInfo.requestPath;
    again.textContent = "Try again";
    unanswered.replaceChildren(`${words} `, again);
  };
  document.addEventListener("htmx:beforeSend", ({ target, detail }) => {
    if (target.id !== "live") { waiting.set(detail.xhr, setTimeout(() => tell("Inspector has not answered yet.", detail), 2000)); }
  });
  document.addEventListener("htmx:afterRequest", ({ detail }) => {
    clearTimeout(waiting.get(detail.xhr));
    if (waiting.delete(detail.xhr) && detail.successful) { unanswered.replaceChildren(); }
  });
  ["htmx:sendError", "htmx:responseError"].forEach((name) => document.addEventListener(name, ({ target, detail }) => {
    if (target.id === "live") { return; }
    const { xhr } = detail;
    const isSentence = xhr.status && (xhr.getResponseHeader("Content-Type") || "").startsWith("text/plain");
    const why = xhr.status ? `Inspector answered with an error (${xhr.status}).` : "Inspector cannot be reached.";
    tell(isSentence ? xhr.responseText.trim() : `${why} This page is as it was.`, detail);
    // What is chosen is again what is shown.
    target.closest("form[data-trim]")?.reset();
    window.htmx.trigger(target, "again");
  }));
  // The same news are not swapped, so that they are not read aloud again.
  document.addEventListener("htmx:beforeSwap", (event) => {
    if (event.detail.target.id !== "news-words") { return; }
    pause = 0;
    const words = document.createElement("template");
    words.innerHTML = event.detail.serverResponse;
    if (words.content.textContent.trim() === event.detail.target.textContent.trim()) { event.detail.shouldSwap = false; }
  });
  document.addEventListener("data-as-of", (event) => {
    pause = 0;
    document.querySelectorAll("time[data-clock]").forEach((time) => { time.dateTime = event.detail.at; });
    showAges();
  });
  // Loads the page again, at the place where the reader was.
  const keptPlace = "inspector-place";
  const address = () => window.location.pathname + window.location.search;
  const loadAgain = (y) => {
    const { hash } = window.location;
    try { sessionStorage.setItem(keptPlace, JSON.stringify({ address: address(), y, hash })); } catch { /* It then begins at the top. */ }
    // With a hash the browser would only scroll.
    history.replaceState(history.state, "", address());
    window.location.replace(address());
  };
  document.addEventListener("click", (event) => {
    if (!event.target.closest("[data-show]") || event.ctrlKey || event.metaKey) { return; }
    event.preventDefault();
    loadAgain(window.scrollY);
  });
  // Back and forward load what htmx swapped away: it is kept nowhere in the browser, and who is signed out by then is led to sign in.
  const keptPlaces = "inspector-places";
  const places = () => { try { return JSON.parse(sessionStorage.getItem(keptPlaces)) || []; } catch { return []; } };
  document.addEventListener("htmx:beforeHistorySave", ({ detail }) => {
    try { sessionStorage.setItem(keptPlaces, JSON.stringify([[detail.path, window.scrollY], ...places().filter(([path]) => path !== detail.path)].slice(0, 30))); } catch { /* As above. */ }
  });
  document.addEventListener("htmx:historyCacheMiss", (event) => {
    event.preventDefault();
    loadAgain(places().find(([path]) => path === address())?.[1] ?? null);
  });
  const returnToPlace = () => {
    let place = null;
    try { place = JSON.parse(sessionStorage.getItem(keptPlace)); sessionStorage.removeItem(keptPlace); } catch { return; }
    if (place?.address !== address()) { return; }
    if (place.hash) { history.replaceState(history.state, "", address() + place.hash); }
    if (place.y === null) { return; }
    window.scrollTo(0, place.y);
    window.addEventListener("load", () => window.scrollTo(0, place.y));
  };
  returnToPlace();

  // What htmx asks for has the address that the form would have: without empty choices, and of shape and profile only what was just chosen.
  document.addEventListener("htmx:configRequest", (event) => {
    const form = event.target.closest("form[data-trim]");
    if (!form) { return; }
    const parameters = event.detail.parameters;
    const other = { as: "profile", profile: "as" }[form.dataset.changed];
    [...new FormData(form).entries()].forEach(([name, value]) => { if (!value || name === other) { delete parameters[name]; } });
  });

  // A second press while the first is under way is no second act. What is downloaded leads to no other page: its button works again after a while.
  const sent = new WeakMap();
  document.addEventListener("submit", (event) => {
    if ((event.submitter?.formMethod || event.target.method) !== "post") { return; }
    if (Date.now() - (sent.get(event.target) || 0) < 3000) { event.preventDefault(); return; }
    sent.set(event.target, Date.now());
  });
  window.addEventListener("pageshow", ({ persisted }) => { if (persisted) { document.querySelectorAll("form").forEach((form) => sent.delete(form)); } });

  // A search is sent by Enter: its change comes with that. A form with a trigger of its own asks by itself: its submission may write.
  document.addEventListener("change", (event) => {
    const form = event.target.closest("form[data-trim]");
    if (form && !form.hasAttribute("hx-trigger") && event.target.type !== "search") { form.dataset.changed = event.target.name; form.requestSubmit(); }
  });

  // A file that is dropped on a text field is the one of its form.
  document.querySelectorAll("[data-drop]").forEach((field) => {
    field.addEventListener("dragover", (event) => { event.preventDefault(); });
    field.addEventListener("drop", (event) => {
      const file = field.form.querySelector("input[type=file]");
      if (!event.dataTransfer.files.length) { return; }
      event.preventDefault();
      file.files = event.dataTransfer.files;
      field.form.requestSubmit();
    });
  });

  // The lines of a text have numbers, and what is said of one leads to it. A long text is not sent while it is typed.
  document.querySelectorAll(".editor textarea").forEach((field) => {
    const count = () => {
      const numbersOf = (selector) => new Set([...document.querySelectorAll(selector)].flatMap(({ dataset: { line, last } }) => Array.from({ length: last - line + 1 }, (_, by) => Number(line) + by)));
      const wrong = numbersOf("#verdict .spot:first-of-type [data-last]");
      const fixed = numbersOf("#verdict .fixing [data-last]");
      const gaining = new Set([...document.querySelectorAll("#verdict .gaining [data-last]")].map(({ dataset }) => Number(dataset.last)));
      const rows = document.createDocumentFragment();
      (field.value || field.placeholder).split("\n").forEach((_, at) => {
        const number = document.createElement("span");
        number.id = `line-${at + 1}`;
        number.textContent = `${at + 1}\n`;
        number.classList.toggle("hit", wrong.has(at + 1));
        number.classList.toggle("fix", fixed.has(at + 1));
        number.classList.toggle("gains", gaining.has(at + 1));
        rows.append(number);
      });
      rows.childNodes[field.value.trimEnd().split("\n").length - 1].classList.toggle("cut", Boolean(document.querySelector("#verdict [data-cut]")));
      field.previousElementSibling.replaceChildren(rows);
    };
    field.addEventListener("input", count);
    document.addEventListener("htmx:afterSettle", count);
    count();
  });
  document.addEventListener("click", (event) => {
    const link = event.target.closest("[data-line]");
    const field = link && document.querySelector(".editor textarea");
    if (!field) { return; }
    event.preventDefault();
    const lines = field.value.split("\n");
    const start = lines.slice(0, link.dataset.line - 1).join("\n").length + (link.dataset.line > 1 ? 1 : 0);
    field.focus();
    field.setSelectionRange(start, start + lines[link.dataset.line - 1].length);
    field.parentElement.scrollTop = (link.dataset.line - 4) * parseFloat(getComputedStyle(field).lineHeight);
  });
  document.addEventListener("htmx:beforeRequest", (event) => {
    const { target } = event;
    if (!(Number(target.dataset?.most) < target.value?.length)) { return; }
    event.preventDefault();
    document.querySelector(target.getAttribute("hx-target")).textContent = "A text of this length is not judged while you type: press Check.";
    document.getElementById("title").textContent = "Check a request";
    document.getElementById("detail").replaceChildren();
  });

  // A link may lead to what is folded.
  const unfold = () => {
    const target = document.getElementById(decodeURIComponent(window.location.hash.slice(1)));
    if (!target) { return; }
    for (let at = target; at; at = at.parentElement?.closest("details")) { if (at.tagName === "DETAILS") { at.open = true; } }
    target.scrollIntoView();
  };
  // Rules, strategies and profiles were one page: an old link to a place of that leads to what is there now.
  const moved = () => {
    const name = decodeURIComponent(window.location.hash.slice(1));
    if (!window.location.pathname.endsWith("/rules/") || !name) { return; }
    const target = document.getElementById(name);
    const link = target?.querySelector(":scope > td > .row-link");
    const page = { streams: "#STREAM", strategies: "../strategies/", corrections: "../strategies/", profiles: "../profiles/" }[name];
    if (link || !target) { window.location.replace(link ? link.href : page || `../profiles/${window.location.hash}`); }
  };
  window.addEventListener("hashchange", moved);
  moved();
  window.addEventListener("hashchange", unfold);
  if (window.location.hash) { unfold(); }

  // The keys whose links this page has.
  const keys = document.getElementById("keys");
  const showKeys = () => {
    keys.querySelectorAll("[data-for]").forEach((row) => { row.hidden = !document.querySelector(row.dataset.for); });
    keys.showModal();
  };
  document.querySelector("[data-opens=keys]")?.addEventListener("click", showKeys);

  // j and k step through the rows of a list, or of a conversation, whose address then names the row.
  const stepRow = (by) => {
    const links = [...document.querySelectorAll("tr .row-link")];
    if (links.length) {
      const here = links.indexOf(document.activeElement);
      links[Math.max(0, Math.min(links.length - 1, here + by))].focus();
      return;
    }
    const rows = [...document.querySelectorAll(".timeline tr[id]")];
    if (!rows.length) { return; }
    const current = rows.findIndex((row) => row.classList.contains("current"));
    const target = rows.findIndex((row) => `#${row.id}` === window.location.hash);
    const row = rows[Math.max(0, Math.min(rows.length - 1, (current < 0 ? target : current) + by))];
    rows.forEach((each) => each.classList.toggle("current", each === row));
    row.scrollIntoView({ block: "nearest" });
    const address = new URL(window.location.href);
    address.searchParams.set("at", row.id.slice(4));
    address.searchParams.delete("from");
    address.hash = row.id;
    history.replaceState(history.state, "", address);
  };

  // Single keys, off while typing and with any modifier; the address bar's history keeps every choice.
  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape") {
      document.querySelectorAll(menus).forEach((menu) => {
        const within = menu.contains(document.activeElement);
        menu.open = false;
        if (within) { menu.querySelector("summary").focus(); }
      });
      return;
    }
    if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest("input, select, textarea") || keys.open) { return; }
    const target = { y: "[data-copy-link]", m: "[data-copy-from]" }[event.key] || `[data-key="${CSS.escape(event.key)}"]`;
    const row = event.key === "o" && document.activeElement.closest(".row-link");
    const link = row || document.querySelector(target);
    if (link) { event.preventDefault(); link.click(); }
    if (["j", "k"].includes(event.key)) { stepRow(event.key === "j" ? 1 : -1); }
    if (event.key === "?") { event.preventDefault(); showKeys(); }
    if (event.key === "/") { event.preventDefault(); document.querySelector(".find input")?.focus(); }
  });
})();
