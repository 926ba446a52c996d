"use strict";
// The live page: asks its own server once a second what is new, and puts it in place of what was there.
(() => {
  const now = document.getElementById("now"), report = document.getElementById("report");
  const token = new URLSearchParams(location.search).get("token");
  const address = (path, more) => path + "?" + new URLSearchParams(Object.assign(token ? { token } : {}, more));
  let seen = -1, reported = -1, chosen = null, missed = 0;

  const make = (name, text, kind) => { const one = document.createElement(name); if (text !== undefined) one.textContent = text; if (kind) one.className = kind; return one; };
  const time = (seconds) => seconds === null ? "" : seconds < 90 ? `${Math.round(seconds)} s` : seconds < 5400 ? `${Math.round(seconds / 60)} min` : `${(seconds / 3600).toFixed(1)} h`;

  const heading = make("h2", "Now"), state = make("p", "connecting …", "soft"), warnings = make("ul"), holder = make("div", undefined, "scroll");
  const table = make("table"), figure = make("figure"), plot = make("div"), words = make("figcaption"), waiting = make("ul");
  const columns = ["lifetime", "state", "progress", "time left", "block", "performance maintenance", "warnings"];
  now.className = "now"; state.setAttribute("role", "status"); holder.tabIndex = 0; holder.setAttribute("role", "region"); holder.setAttribute("aria-label", "Progress of every lifetime");
  table.append(make("caption", "Choose a lifetime to see it grow."));
  const head = table.createTHead().insertRow();
  for (const name of columns) { const one = make("th", name); one.scope = "col"; head.append(one); }
  const body = table.createTBody();
  holder.append(table); figure.append(plot, words); now.append(heading, state, warnings, holder, figure, waiting);

  const marks = { met: "✓", "not met": "✗", undecided: "?" };
  const row = (one) => {
    const made = document.createElement("tr"), name = make("th"), pick = make("button", one.id);
    name.scope = "row"; name.className = "id"; pick.type = "button"; pick.setAttribute("aria-pressed", String(one.id === chosen));
    pick.addEventListener("click", () => { chosen = one.id; seen = -1; ask(); });
    name.append(pick);
    const bar = make("td"), done = one.total ? `${one.done} of ${one.total}` : `${one.done}`;
    if (one.total) { const inside = make("progress"); inside.max = one.total; inside.value = Math.min(one.done, one.total); inside.setAttribute("aria-label", `${one.id}: ${done}`); bar.append(inside, " "); }
    bar.append(done);
    const value = one.values.performance_maintenance, waits = one.waits.performance_maintenance;
    made.append(name, make("td", one.state), bar, make("td", time(one.left_s)), make("td", one.block),
      make("td", value === null || value === undefined ? waits || "" : `${Number(value).toPrecision(4)} ${marks[one.verdicts.performance_maintenance] || ""}`), make("td", one.warnings.join("; "), "warning"));
    return made;
  };
  const show = (facts) => {
    if (chosen === null && facts.lifetimes.length) chosen = facts.lifetimes[0].id;
    const counts = {};
    for (const one of facts.lifetimes) counts[one.state] = (counts[one.state] || 0) + 1;
    state.textContent = facts.lifetimes.length ? Object.entries(counts).map(([name, count]) => `${count} ${name}`).join(", ") : "No lifetime here yet; waiting.";
    warnings.replaceChildren(...facts.warnings.map((text) => make("li", text, "warning")));
    const focused = document.activeElement && body.contains(document.activeElement) ? document.activeElement.textContent : null;
    body.replaceChildren(...facts.lifetimes.map(row));
    if (focused) for (const one of body.querySelectorAll("button")) if (one.textContent === focused) one.focus();
    const mine = facts.lifetimes.find((one) => one.id === chosen);
    words.textContent = chosen ? `${chosen}: ${mine ? mine.block : "gone"}` : "";
    waiting.replaceChildren(...(mine ? Object.entries(mine.waits) : []).map(([name, why]) => make("li", `${name.replaceAll("_", " ")}: ${why}`, "note")));
    if (facts.figure) plot.innerHTML = facts.figure;
  };
  const ask = async () => {
    try {
      const answer = await fetch(address("state", { since: String(seen), of: chosen || "" }), { cache: "no-store" });
      if (!answer.ok) throw new Error(answer.statusText);
      const facts = await answer.json();
      missed = 0;
      if (facts.version !== seen) { seen = facts.version; show(facts); }
      if (facts.scored !== reported && facts.scored > 0) {
        reported = facts.scored;
        const given = await (await fetch(address("report"), { cache: "no-store" })).json();
        perdure.replace(report, given.body, given.facts);
      }
    } catch (problem) {
      if (++missed > 2) state.textContent = "The server does not answer; was perdure watch stopped?";
    }
  };
  ask();
  setInterval(() => { if (!document.hidden) ask(); }, 800);
})();
