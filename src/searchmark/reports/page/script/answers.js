// What the agents answered to one case, side by side.
const gradeChip = (grade) => (grade === null ? null : chip(grade > 0 ? "good" : "calm", `grade ${grade}`));

// Where a target was found, and how far that is from where the first run had it.
function rankCell(run, row, at) {
  const rank = entries(DATA.answers[run], "ranks", row)[at] || null;
  const before = entries(DATA.answers[0], "ranks", row)[at] || null;
  return element("td", { class: "number" }, rank === null ? quiet("not found") : `#${rank}`, run === 0 ? null : moved(before, rank));
}

function moved(before, rank) {
  if (before === rank) return null;
  if (before === null) return element("span", { class: "up" }, " ▲ new");
  if (rank === null) return element("span", { class: "down" }, ` ▼ was #${before}`);
  const step = before - rank;
  return element("span", { class: step > 0 ? "up" : "down" }, ` ${step > 0 ? "▲" : "▼"} ${Math.abs(step)}`);
}

function judgmentTable(row) {
  const targets = targetsOf(row);
  if (!targets.length) return element("p", { class: "quiet" }, UNANSWERABLE.has(row) ? "Nothing is right here: the case is marked unanswerable." : "No target is worth anything here.");
  const head = ["Target", "Grade", ...DATA.runs].map((label, at) => element("th", { scope: "col", class: at ? "number" : null }, label));
  const body = targets.map(({ target, match, grade }, at) =>
    element("tr", {},
      element("th", { scope: "row", class: "id" }, pathParts(target), match === "id" || match === "path" ? null : quiet(` ${match}`)),
      element("td", { class: "number" }, String(grade)),
      DATA.runs.map((_, run) => rankCell(run, row, at))));
  return scrolled("Judgments", element("table", {}, element("thead", {}, element("tr", {}, head)), element("tbody", {}, body)));
}

const scrolled = (label, table) => element("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": label }, table);

function valueTable(row) {
  const head = ["Measure", ...DATA.runs].map((label, at) => element("th", { scope: "col", class: at ? "number" : null }, label));
  const body = DATA.words.map((name, measure) =>
    element("tr", {}, element("th", { scope: "row" }, name), DATA.runs.map((_, run) => measureCell(run, measure, row))));
  return scrolled("Values", element("table", {}, element("thead", {}, element("tr", {}, head)), element("tbody", {}, body)));
}

function measureCell(run, measure, row) {
  const reason = entries(DATA.answers[run], "undefined", row).find(([at]) => at === measure);
  return element("td", { class: "number", title: reason ? text(reason[1]) : null }, digits(valueOf(run, measure, row)));
}

function hitItem(hit, ranks) {
  const lines = hit.lines ? quiet(`:${hit.lines[0]}–${hit.lines[1]}`) : null;
  const facts = [
    gradeChip(hit.grade),
    hit.missing ? chip("bad", "does not exist") : null,
    hit.score === null ? null : quiet(String(hit.score)),
    ranks === null ? null : moved(ranks.get(hit.number) ?? null, hit.rank),
  ];
  const tone = hit.grade === null ? null : hit.grade > 0 ? "relevant" : "judged";
  const line = element("span", { class: "hit" }, element("span", { class: "id" }, pathParts(hit.id), lines), element("span", { class: "facts" }, facts));
  const said = hit.text === undefined ? line : element("details", {}, element("summary", {}, line), element("pre", {}, hit.text));
  return element("li", { class: tone, "data-hit": hit.number }, said);
}

function timesOf(answers, row) {
  const kinds = [["cold", "first search"], ["warm", "repeats"]];
  return kinds.flatMap(([kind, label]) => {
    const samples = entries(answers, kind, row);
    return samples.length ? [element("dt", {}, label), element("dd", {}, samples.map((each) => `${each} ms`).join(", "))] : [];
  });
}

function factsOf(answers, row) {
  return entries(answers, "facts", row).flatMap(([what, said]) => [element("dt", {}, what), element("dd", {}, text(said))]);
}

function answerColumn(run, row, firstRanks) {
  const answers = DATA.answers[run];
  const status = DATA.statuses[statusOf(run, row)];
  const failure = entry(answers, "failure", row);
  const reasons = failureReasons(run, row);
  const hits = hitsOf(run, row);
  return element("section", { class: "answer" },
    element("h4", {}, DATA.runs[run], " ", status === "ok" ? null : chip("bad", status)),
    reasons.length && failure === null ? element("p", { class: "failed" }, "✗ failed: " + reasons.join("; ")) : null,
    failure === null ? null : element("pre", { class: "failure" }, text(failure[0])),
    hits.length ? element("ol", { class: "hits" }, hits.map((hit) => hitItem(hit, run === 0 ? null : firstRanks))) : element("p", { class: "quiet" }, "No hits."),
    element("dl", {}, timesOf(answers, row), factsOf(answers, row)));
}

function answerColumns(row) {
  const firstRanks = new Map(hitsOf(0, row).map((hit) => [hit.number, hit.rank]));
  return element("div", { class: "answers" }, DATA.runs.map((_, run) => answerColumn(run, row, firstRanks)));
}

// The same hit in the other lists lights up.
function lightUp(event) {
  const hit = event.target.closest?.("[data-hit]")?.dataset.hit;
  for (const item of byId("case").querySelectorAll("[data-hit]")) item.classList.toggle("lit", item.dataset.hit === hit);
}
