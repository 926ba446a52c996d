"use strict";
// The live page: asks its own server twice a second what is new, and puts it in place of what was there. Words are the server's.
(() => {
  const now = document.getElementById("now"), report = document.getElementById("report"), title = document.title;
  const token = new URLSearchParams(location.search).get("token");
  const address = (path, more) => path + "?" + new URLSearchParams(Object.assign(token ? { token } : {}, more));
  let seen = -1, reported = -1, picked = null, missed = 0;

  const make = (name, text, kind) => { const one = document.createElement(name); if (text !== undefined) one.textContent = text; if (kind) one.className = kind; return one; };
  const put = (place, text) => { if (place.textContent !== text) place.textContent = text; };
  const bar = (share, words) => { const one = make("progress"); one.max = 1; one.value = share; one.setAttribute("aria-label", words); return one; };

  const headline = make("p", "connecting …", "headline"), whole = bar(0, "all lifetimes"), age = make("p", "", "age"), warnings = make("ul", undefined, "warnings");
  const both = make("div", undefined, "both"), list = make("div"), heads = make("p", undefined, "heads"), lives = make("ul", undefined, "lives"), figure = make("figure"), plot = make("div", undefined, "plot");
  const caption = make("figcaption"), who = make("p"), said = make("p", "", "said"), folded = make("details"), waits = make("summary"), waiting = make("ul");
  heads.append(make("span", "lifetime"), make("span", "kept or lost"));
  headline.setAttribute("role", "status"); lives.setAttribute("aria-label", "Lifetimes, those that run first"); both.hidden = true; whole.hidden = true; folded.hidden = true;
  folded.append(waits, waiting); caption.append(said, folded); figure.append(who, plot, caption); list.append(heads, lives); both.append(list, figure); now.append(headline, whole, age, warnings, both);

  const far = (one) => one.state === "running" || one.state === "quiet" ? [one.total ? `${Math.floor(100 * Math.min(1, one.done / one.total))} %` : `${one.done} experiences`, one.left && `${one.left} left`].filter(Boolean).join(" · ") : one.state === "done" ? "" : one.state;
  const row = (one, chosen) => {
    const made = make("li"), pick = make("button", undefined, `life ${one.state}`);
    pick.type = "button"; pick.dataset.id = one.id; pick.title = one.id; pick.setAttribute("aria-pressed", String(one.id === chosen));
    pick.addEventListener("click", () => { picked = one.id; seen = -1; ask(); });
    const kept = make("span", one.kept, `kept ${one.verdict.replace(" ", "-")}`);
    kept.title = one.kept ? `points kept or lost${one.state === "done" ? "" : " so far"}: ${one.verdict || "no verdict"}` : "";
    pick.append(make("span", one.name, "name"), kept);
    if (one.state !== "done") {
      pick.append(make("small", one.block), make("small", far(one), "far"));
      if (one.total) pick.append(bar(Math.min(1, one.done / one.total), `${one.id}: ${one.done} of ${one.total} experiences`));
    } else pick.setAttribute("aria-label", `${one.name}, done, ${one.kept}`);
    for (const words of one.warnings) pick.append(make("span", words, "warning"));
    made.append(pick);
    return made;
  };
  const show = (facts) => {
    put(headline, facts.headline);
    document.title = facts.share === null || facts.over ? title : `${Math.floor(100 * facts.share)} % · ${title}`;
    whole.hidden = facts.share === null; whole.value = facts.share ?? 0; both.hidden = !facts.lifetimes.length;
    warnings.replaceChildren(...facts.warnings.map((text) => make("li", text, "warning")));
    const focused = document.activeElement && lives.contains(document.activeElement) ? document.activeElement.dataset.id : null, at = lives.scrollTop;
    lives.replaceChildren(...facts.lifetimes.map((one) => row(one, facts.chosen)));
    if (facts.more) lives.append(make("li", `and ${facts.more} more lifetimes`, "soft"));
    lives.scrollTop = at;
    if (focused) for (const one of lives.querySelectorAll("button")) if (one.dataset.id === focused) one.focus();
    const mine = facts.lifetimes.find((one) => one.id === facts.chosen);
    who.replaceChildren(make("b", mine ? mine.name : ""), mine && mine.block ? ` · ${mine.block}` : "");
    put(said, facts.said);
    const open = mine ? Object.entries(mine.waits) : [];
    folded.hidden = !open.length;
    put(waits, open.length === 1 ? "1 metric without a value yet" : `${open.length} metrics without a value yet`);
    waiting.replaceChildren(...open.map(([name, why]) => make("li", `${name.replaceAll("_", " ")}: ${why}`)));
    plot.innerHTML = facts.figure;
  };
  const ask = async () => {
    try {
      const answer = await fetch(address("state", { since: String(seen), ...(picked ? { of: picked } : {}) }), { cache: "no-store" });
      if (!answer.ok) throw new Error(answer.statusText);
      const facts = await answer.json();
      missed = 0;
      put(age, facts.age);
      if (facts.version !== seen) { seen = facts.version; show(facts); }
      if (facts.scored !== reported && facts.scored > 0) {
        reported = facts.scored;
        const given = await (await fetch(address("report"), { cache: "no-store" })).json();
        perdure.replace(report, given.body, given.facts);
      }
    } catch (problem) {
      if (++missed > 2) put(headline, "The server does not answer; was perdure watch stopped?");
    }
  };
  ask();
  setInterval(() => { if (!document.hidden) ask(); }, 500);
})();
