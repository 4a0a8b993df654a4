// One case, over the page; its name is kept in the fragment.
let shownRow = -1;

function openCase(row) {
  changeState({ case: DATA.ids[row] });
  showCase();
}

function showCase() {
  const dialog = byId("case");
  const row = state.case === null ? -1 : DATA.ids.indexOf(state.case);
  if (row < 0) {
    if (dialog.open) dialog.close();
    return;
  }
  if (dialog.open && row === shownRow) return;
  shownRow = row;
  dialog.replaceChildren(...caseParts(row));
  if (!dialog.open) dialog.showModal();
  dialog.scrollTop = 0;
}

function caseParts(row) {
  const about = [categoryOf(row), ...tagsOf(row)].filter(Boolean).map((each) => chip("calm", each));
  const origin = DATA.origins[row] === undefined ? null : quiet("origin " + text(DATA.origins[row]));
  return [
    element("header", {}, element("h3", { id: "case-title" }, DATA.ids[row]), caseButtons(row)),
    queryOf(row) ? element("p", { class: "asked" }, queryOf(row)) : null,
    about.length || origin ? element("p", { class: "about" }, about, origin) : null,
    element("div", { class: "tables" },
      element("div", {}, element("h4", {}, "Judgments, and the rank at which each was found"), judgmentTable(row)),
      element("div", {}, element("h4", {}, "Values"), valueTable(row))),
    element("h4", {}, DATA.runs.length > 1 ? `Answers; ▲ and ▼ are moves against ${DATA.runs[0]}` : "Answers"), answerColumns(row),
  ].filter((part) => part !== null);
}

function caseButtons(row) {
  const at = listed.indexOf(row);
  const step = (label, name, to) =>
    element("button", { type: "button", class: "quiet-button", "aria-label": name, disabled: listed[to] === undefined || at < 0, "data-step": name, onclick: () => stepTo(to, name) }, label);
  return element("div", { class: "buttons" },
    step("←", "previous case", at - 1), step("→", "next case", at + 1),
    element("button", { type: "button", class: "quiet-button", onclick: closeCase, autofocus: true }, "Close"));
}

function stepTo(at, name) {
  openCase(listed[at]);
  byId("case").querySelector(`[data-step="${name}"]`).focus();
}

function closeCase() {
  byId("case").close();
}

// Also when Escape or the back button has closed it: the reader is back at the case in the list.
function caseClosed() {
  if (byId("case").open) return;
  if (state.case !== null) changeState({ case: null });
  byId("list").querySelector(`button[data-row="${shownRow}"]`)?.focus();
}

function caseKeys(event) {
  const name = { ArrowLeft: "previous case", ArrowRight: "next case" }[event.key];
  if (name !== undefined && !withModifier(event) && !event.target.closest(".scroll")) byId("case").querySelector(`[data-step="${name}"]`).click();
}
