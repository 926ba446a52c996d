"use strict";
// Figures are drawn when they come into view; tasks are toggled everywhere at once; tables sort by a click on a heading.
(() => {
  const data = (id) => { const at = document.getElementById(id); return at ? JSON.parse(at.textContent) : null; };
  const hidden = new Set();
  const drawn = new Set(), drawing = new Map();
  let figures = data("figures") || {};
  const css = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

  const layout = (given) => {
    const ink = css("--ink"), line = css("--line");
    const base = {
      paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)", font: { color: ink, family: "system-ui, sans-serif", size: 13 },
      margin: { l: 64, r: 16, t: 16, b: 56 }, hovermode: "closest", autosize: true, height: 380,
      legend: { orientation: "h", yref: "container", y: 0, yanchor: "bottom" }, hoverlabel: { font: { family: "system-ui, sans-serif" } },
    };
    const made = Object.assign({}, base, given);
    for (const key of new Set(["xaxis", "yaxis", ...Object.keys(made).filter((one) => /^[xy]axis/.test(one))])) {
      made[key] = Object.assign({ gridcolor: line, zerolinecolor: line, linecolor: line, automargin: true }, made[key]);
    }
    if (made.polar) {
      made.polar = Object.assign({ bgcolor: "rgba(0,0,0,0)" }, made.polar);
      made.polar.radialaxis = Object.assign({ gridcolor: line }, made.polar.radialaxis);
      made.polar.angularaxis = Object.assign({ gridcolor: line }, made.polar.angularaxis);
    }
    return made;
  };
  const seen = (trace) => Object.assign({}, trace, { visible: !(trace.meta && hidden.has(trace.meta.task)) });
  const draw = (place) => {
    const spec = figures[place.dataset.figure];
    if (!spec || typeof Plotly === "undefined") return;
    drawn.add(place);
    // One after the other: plotly goes on laying out after it returns, and must not be cut short.
    const last = drawing.get(place) || Promise.resolve();
    drawing.set(place, last.then(() => place.isConnected && Plotly.react(place, spec.data.map(seen), layout(spec.layout),
      { responsive: true, displaylogo: false, modeBarButtonsToRemove: ["lasso2d", "select2d"] })).catch((problem) => console.error(problem)));
  };
  const redraw = () => { for (const place of drawn) if (place.isConnected) draw(place); else drawn.delete(place); };

  const inView = new Set();
  const watcher = new IntersectionObserver((entries) => {
    for (const { target, isIntersecting } of entries) {
      if (isIntersecting) inView.add(target); else inView.delete(target);
      if (isIntersecting && !drawn.has(target)) draw(target);
    }
  }, { rootMargin: "400px" });
  const prepare = (root) => {
    for (const place of root.querySelectorAll(".plot")) watcher.observe(place);
    for (const table of root.querySelectorAll("table.sortable")) {
      table.querySelectorAll("thead th").forEach((head, column) => {
        const button = head.querySelector("button");
        if (button) button.addEventListener("click", () => sort(table, head, column));
      });
    }
  };
  const worth = (cell) => {
    const text = cell.textContent.trim().replaceAll("−", "-");
    const number = Number.parseFloat(text.replace(/^< \./, "0.").replace(/^\./, "0."));
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
  const make = (name, text, facts) => Object.assign(document.createElement(name), { textContent: text }, facts);
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
  document.addEventListener("toggle", (event) => {
    for (const place of event.target.querySelectorAll ? event.target.querySelectorAll(".tables:empty") : [])
      place.append(...((figures[place.dataset.of] || {}).tables || []).flatMap(tabled));
  }, true);
  document.addEventListener("click", (event) => {
    const task = event.target.closest("button.task");
    if (task) {
      const name = task.dataset.task, shown = hidden.has(name);
      if (shown) hidden.delete(name); else hidden.add(name);
      for (const one of document.querySelectorAll("button.task")) if (one.dataset.task === name) one.setAttribute("aria-pressed", String(shown));
      redraw();
    }
    if (event.target.closest("button.theme")) {
      const dark = document.documentElement.dataset.theme ? document.documentElement.dataset.theme === "dark"
        : matchMedia("(prefers-color-scheme: dark)").matches;
      document.documentElement.dataset.theme = dark ? "light" : "dark";
      redraw();
    }
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
  addEventListener("beforeprint", () => { for (const place of document.querySelectorAll(".plot")) if (place.offsetParent && !drawn.has(place)) draw(place); });

  // What the live page uses to put new facts in place of old ones.
  globalThis.perdure = {
    prepare, redraw,
    figures: (given) => {
      figures = Object.assign(figures, given);
      for (const place of document.querySelectorAll(".plot"))
        if (place.dataset.figure in given && (drawn.has(place) || inView.has(place))) draw(place);
    },
    replace: (root, markup, given) => {
      figures = Object.assign(figures, given);
      const open = new Set([...root.querySelectorAll("details[open]")].map((one) => one.id));
      for (const place of root.querySelectorAll(".plot")) {
        watcher.unobserve(place); drawn.delete(place); inView.delete(place);
        (drawing.get(place) || Promise.resolve()).then(() => { drawing.delete(place); Plotly.purge(place); });
      }
      root.innerHTML = markup;
      for (const one of root.querySelectorAll("details")) if (open.has(one.id)) one.open = true;
      prepare(root);
    },
  };
  prepare(document);
})();
