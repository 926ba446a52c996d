"use strict";
// Figures stand in the page already; this adds what is seen when pointing at them, hiding tasks, sorting, unfolding and printing.
(() => {
  const data = (id) => { const at = document.getElementById(id); return at ? JSON.parse(at.textContent) : null; };
  let facts = data("facts") || { tasks: [], tables: {} };
  const hidden = new Set();
  const make = (name, text, given) => Object.assign(document.createElement(name), { textContent: text }, given);

  // --- what a mark or a curve says ---
  const tip = make("div", "", { id: "tip", hidden: true });
  tip.setAttribute("role", "status");
  document.body.append(tip);
  const say = (words, event) => {
    tip.hidden = !words;
    if (!words) return;
    tip.textContent = words;
    const { clientWidth, clientHeight } = document.documentElement;
    const left = Math.min(event.clientX + 14, clientWidth - tip.offsetWidth - 6);
    const top = event.clientY + 18 + tip.offsetHeight > clientHeight ? event.clientY - tip.offsetHeight - 10 : event.clientY + 18;
    tip.style.left = `${Math.max(6, left) + scrollX}px`;
    tip.style.top = `${Math.max(6, top) + scrollY}px`;
  };
  const shapes = new WeakMap();
  const points = (line) => {
    if (!shapes.has(line)) {
      const found = [];
      let x = 0, y = 0;
      for (const [, letter, rest] of line.getAttribute("d").matchAll(/([Mlh])([^Mlhz]*)/g)) {
        const given = (rest.match(/-?\d+/g) || []).map(Number);
        if (letter === "h") { found.push([x / 10, y / 10]); continue; }
        for (let at = 0; at + 1 < given.length; at += 2) {
          if (letter === "M") { x = given[at]; y = given[at + 1]; } else { x += given[at]; y += given[at + 1]; }
          found.push([x / 10, y / 10]);
        }
      }
      shapes.set(line, found);
    }
    return shapes.get(line);
  };
  const digits = (value, span) => { const places = Math.max(0, 2 - Math.floor(Math.log10(Math.abs(span) || 1))); return Number(value.toFixed(Math.min(6, places))).toString().replace("-", "−"); };
  const nearest = (panel, event) => {
    const inverse = panel.getScreenCTM(), [x0, x1, xa, xb, y0, y1, ya, yb, log] = panel.dataset.frame.split(" ").map(Number);
    if (!inverse) return null;
    const at = new DOMPoint(event.clientX, event.clientY).matrixTransform(inverse.inverse());
    if (at.x < x0 - 4 || at.x > x1 + 4 || at.y < y1 - 4 || at.y > y0 + 4) return null;
    let best = null, least = 24 ** 2;
    for (const line of panel.querySelectorAll("path.line")) {
      const named = line.querySelector("title");
      if (!named || line.closest(".off")) continue;
      for (const [x, y] of points(line)) {
        const away = (x - at.x) ** 2 + (y - at.y) ** 2;
        if (away < least) { least = away; best = [line, named.textContent, x, y]; }
      }
    }
    if (!best) return null;
    const [line, name, px, py] = best, part = (px - x0) / (x1 - x0);
    const x = log ? xa * (xb / xa) ** part : xa + part * (xb - xa), y = ya + (py - y0) / (y1 - y0) * (yb - ya);
    const task = line.closest("[data-task]");
    return `${task ? facts.tasks[task.dataset.task] + ", " : ""}${name} at ${digits(x, xb - xa)}: ${digits(y, yb - ya)}`;
  };
  const told = (event) => {
    const over = event.target.closest ? event.target.closest("svg.figure, .grid td") : null;
    if (!over) return "";
    if (over.matches("td")) return over.querySelector("svg.tiny")?.getAttribute("aria-label") || over.dataset.why || "";
    const named = event.target.closest("path, circle, polygon, rect");
    const title = named && !named.matches(".line") ? named.querySelector("title") : null;
    if (title) return title.textContent;
    for (const panel of over.querySelectorAll(".panel")) { const words = nearest(panel, event); if (words) return words; }
    return "";
  };
  document.addEventListener("pointermove", (event) => say(told(event), event));
  document.addEventListener("pointerdown", (event) => say(told(event), event));
  document.addEventListener("pointerleave", () => { tip.hidden = true; });
  document.addEventListener("scroll", () => { tip.hidden = true; }, { passive: true });

  // --- tables ---
  const worth = (cell) => {
    const text = cell.textContent.trim().replaceAll("−", "-");
    const number = Number.parseFloat(text.replace(/^[<×+]\s*/, "").replace(/^\./, "0."));
    return text === "" || text === "–" ? null : Number.isNaN(number) ? text : number;
  };
  const sort = (table, head, column) => {
    const falling = head.getAttribute("aria-sort") === "ascending";
    for (const other of table.querySelectorAll("thead th")) other.removeAttribute("aria-sort");
    head.setAttribute("aria-sort", falling ? "descending" : "ascending");
    const body = table.tBodies[0];
    const rows = [...body.rows].map((row) => [worth(row.cells[column]), row]);
    rows.sort(([one], [other]) => {
      if (one === null || other === null) return (one === null) - (other === null);  // what has no value stays last
      const order = typeof one === "number" && typeof other === "number" ? one - other : String(one).localeCompare(String(other));
      return falling ? -order : order;
    });
    body.append(...rows.map(([, row]) => row));
  };
  // A lifetime's tables are many rows that few open: they travel as data, and become tables when its page is unfolded.
  const tabled = (given) => {
    const table = document.createElement("table"), head = table.createTHead().insertRow(), body = table.createTBody();
    table.append(make("caption", given.caption));
    head.append(...given.columns.map(([name, kind, about]) => make("th", name, { scope: "col", className: kind, title: about })));
    for (const row of given.rows)
      body.insertRow().append(...row.map((cell, at) => make(at ? "td" : "th", cell, { className: given.columns[at][1], ...(at ? {} : { scope: "row" }) })));
    const place = make("div", "", { className: "scroll", tabIndex: 0, role: "region", ariaLabel: given.caption });
    place.append(table);
    return given.note ? [place, make("p", given.note, { className: "note" })] : [place];
  };
  const unfolded = (root) => {
    for (const place of root.querySelectorAll ? root.querySelectorAll(".tables:empty") : [])
      if (place.closest("details").open) place.append(...(facts.tables[place.dataset.of] || []).flatMap(tabled));
  };
  document.addEventListener("toggle", (event) => unfolded(event.target), true);

  // --- tasks, folds, light and dark, print ---
  const hide = (root) => { for (const one of root.querySelectorAll("svg [data-task]")) one.classList.toggle("off", hidden.has(one.dataset.task)); };
  document.addEventListener("click", (event) => {
    const task = event.target.closest("button.task"), all = event.target.closest("button.unfold"), head = event.target.closest("table.sortable thead th");
    if (head) sort(head.closest("table"), head, head.cellIndex);
    if (task) {
      const shown = hidden.has(task.dataset.task);
      if (shown) hidden.delete(task.dataset.task); else hidden.add(task.dataset.task);
      for (const one of document.querySelectorAll(`button.task[data-task="${task.dataset.task}"]`)) one.setAttribute("aria-pressed", String(shown));
      hide(document);
    }
    if (all) {
      const folds = [...document.querySelectorAll("details.fold")], open = folds.some((one) => !one.open);
      for (const one of folds) one.open = open;
      all.textContent = open ? "Fold all" : "Unfold all";
    }
    if (event.target.closest("button.theme")) {
      const root = document.documentElement, dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
      root.dataset.theme = dark ? "light" : "dark";
    }
  });
  const reveal = () => {
    const at = location.hash.length > 1 ? document.getElementById(decodeURIComponent(location.hash.slice(1))) : null;
    for (let one = at; one; one = one.parentElement) if (one.tagName === "DETAILS") one.open = true;
    if (at) at.scrollIntoView();
  };
  addEventListener("hashchange", reveal);
  document.addEventListener("click", (event) => { if (event.target.closest("a[href^='#']")) setTimeout(reveal); });
  const folded = new Set();
  addEventListener("beforeprint", () => {
    for (const one of document.querySelectorAll("details:not([open])")) { folded.add(one); one.open = true; unfolded(one); }
  });
  addEventListener("afterprint", () => { for (const one of folded) one.open = false; folded.clear(); });

  // What the live page uses to put new facts in place of old ones.
  globalThis.perdure = {
    replace: (root, markup, given) => {
      facts = given;
      const open = new Set([...root.querySelectorAll("details[open]")].map((one) => one.id));
      root.innerHTML = markup;
      for (const one of root.querySelectorAll("details")) if (open.has(one.id)) { one.open = true; unfolded(one); }
      hide(root);
    },
  };
  reveal();
})();
