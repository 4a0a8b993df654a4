// The list of cases. Rows are made a hundred at a time, as the reader gets to them.
const ROWS_AT_ONCE = 100;
let listed = [];
let made = 0;

function columns() {
  const runs = DATA.runs.map((name, run) => ({ key: String(run), label: name, number: true }));
  const hasCategories = DATA.categories.some((category) => category !== null);
  return [
    { key: "case", label: "Case" },
    { key: "query", label: "Query" },
    ...(hasCategories ? [{ key: "category", label: "Category" }] : []),
    ...runs,
    ...(runs.length === 2 ? [{ key: "difference", label: "Difference", number: true }] : []),
  ];
}

function headCell({ key, label, number }) {
  const sorted = state.sort === key ? "ascending" : state.sort === "-" + key ? "descending" : "none";
  const sign = { ascending: " ↑", descending: " ↓", none: "" }[sorted];
  const button = element("button", { type: "button", "data-sort": key, onclick: () => sortBy(key, number) }, label + sign);
  return element("th", { scope: "col", "aria-sort": sorted, class: number ? "number" : null, title: key in DATA.runs ? DATA.words[shownMeasure()] : null }, button);
}

// Up, down, off; numbers begin with the highest.
function sortBy(key, number) {
  const steps = number ? ["-" + key, key, ""] : [key, "-" + key, ""];
  changeState({ sort: steps[(steps.indexOf(state.sort) + 1) % steps.length] });
  showList();
  byId("list").querySelector(`[data-sort="${key}"]`).focus();
}

function valueCell(run, row) {
  const value = valueOf(run, shownMeasure(), row);
  const status = statusOf(run, row);
  const failed = hasFailed(run, row);
  const said = status === STATUS_OK ? null : quiet(" " + DATA.statuses[status]);
  const why = failed ? failureReasons(run, row).join("; ") : null;
  const sign = failed ? element("span", { class: "failed", "aria-label": "failed" }, "✗ ") : null;
  return element("td", { class: "number", "data-run": DATA.runs[run], title: why }, sign, digits(value), said);
}

function caseRow(row) {
  const opener = element("button", { type: "button", class: "link", "data-row": row }, DATA.ids[row]);
  const cells = columns().map(({ key }) => {
    if (key === "case") return element("th", { scope: "row" }, opener);
    if (key === "query") return element("td", { class: "query" }, element("span", {}, queryOf(row)));
    if (key === "category") return element("td", { class: "category" }, categoryOf(row));
    if (key === "difference") return element("td", { class: "number", "data-run": "difference" }, signed(difference(row)));
    return valueCell(Number(key), row);
  });
  return element("tr", { onclick: () => openCase(row) }, cells);
}

function showMore() {
  const next = listed.slice(made, made + ROWS_AT_ONCE);
  byId("list").tBodies[0].append(...next.map(caseRow));
  made += next.length;
  byId("more").hidden = made >= listed.length;
}

function showList() {
  listed = selectedRows();
  made = 0;
  byId("list").tHead.replaceChildren(element("tr", {}, columns().map(headCell)));
  byId("list").tBodies[0].replaceChildren();
  byId("count").textContent =
    listed.length === ROWS.length ? counted(ROWS.length) : `${listed.length} of ${counted(ROWS.length)}`;
  showMore();
}

// The arrow keys go from case to case.
function moveAlong(event) {
  const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  if (step === undefined || withModifier(event) || !event.target.matches("button[data-row]")) return;
  event.preventDefault();
  const row = event.target.closest("tr");
  if (step === 1 && row.nextElementSibling === null) showMore();
  (step === 1 ? row.nextElementSibling : row.previousElementSibling)?.querySelector("button[data-row]").focus();
}
