// Puts the parts together.
function options(id, names, { all = "all", fewest = 1, labels = names } = {}) {
  const chosen = all === null ? [] : [element("option", { value: "" }, all)];
  byId(id).replaceChildren(...chosen, ...names.map((name, at) => element("option", { value: name }, labels[at])));
  offer(id, names.length >= fewest ? names : []);
}

// A control is there if it has something to choose, and only then may the address choose it.
function offer(id, values) {
  possible[id] = values;
  byId(id).closest("label").hidden = values.length === 0;
}

function distinct(names) {
  return [...new Set(names)].filter(Boolean).sort(collator.compare);
}

function fillFilters() {
  const statuses = ROWS.flatMap((row) => DATA.answers.map((_, run) => DATA.statuses[statusOf(run, row)]));
  options("measure", DATA.measures, { all: null, fewest: 2, labels: DATA.words });
  options("category", distinct(ROWS.map(categoryOf)));
  options("tag", distinct(ROWS.flatMap(tagsOf)));
  options("status", distinct(statuses), { fewest: 2 });
  const offered = { failed: true, flipped: DATA.answers.length > 1, different: DATA.answers.length > 1, leaky: LEAKY.size > 0 };
  for (const [name, there] of Object.entries(offered)) offer(name, there ? ["1"] : []);
  possible.sort = columns().flatMap(({ key }) => [key, "-" + key]);
  possible.theme = ["light", "dark"];
}

// The controls as the state has them.
function showFilters() {
  byId("q").value = state.q;
  for (const name of SWITCHES) byId(name).checked = state[name];
  for (const name of CHOICES) byId(name).value = state[name] || (name === "measure" ? DATA.measures[0] ?? "" : "");
}

function filtersChanged() {
  const chosen = { q: byId("q").value };
  for (const name of SWITCHES) chosen[name] = byId(name).checked;
  for (const name of CHOICES) chosen[name] = byId(name).value;
  if (chosen.measure === DATA.measures[0]) chosen.measure = "";
  changeState(chosen);
  showList();
}

function filtersCleared(event) {
  event.preventDefault();
  const none = Object.fromEntries([...SWITCHES.map((name) => [name, false]), ...CHOICES.map((name) => [name, ""])]);
  changeState({ ...none, q: "", sort: "" });
  showFilters();
  showList();
}

const prefersDark = matchMedia("(prefers-color-scheme: dark)");

function showTheme() {
  document.documentElement.dataset.theme = state.theme;
  const dark = state.theme === "" ? prefersDark.matches : state.theme === "dark";
  byId("theme").textContent = dark ? "Light" : "Dark";
}

function otherTheme() {
  changeState({ theme: byId("theme").textContent.toLowerCase() });
  showTheme();
}

function goTo(id) {
  byId(id).scrollIntoView();
  byId(id).focus({ preventScroll: true });
}

// Links to sections leave the fragment alone: it holds what is shown.
function followed(event) {
  const link = event.target.closest?.('a[href^="#"]');
  const button = event.target.closest?.("button[data-case], button[data-category], button[data-tag]");
  if (link) {
    event.preventDefault();
    goTo(link.getAttribute("href").slice(1));
  } else if (button?.dataset.case !== undefined) {
    const row = DATA.ids.indexOf(button.dataset.case);
    if (row >= 0) openCase(row);
  } else if (button) {
    showSegment({ category: known("category", button.dataset.category), tag: known("tag", button.dataset.tag) });
  }
}

function showSegment(segment) {
  changeState(segment);
  showFilters();
  showList();
  goTo("cases");
}

// The list stays as it is where nothing but the case has changed, and so does the reader.
function restore() {
  if (leaving) arrived();
  const before = state;
  state = readState();
  if (before === null || fragmentOf({ ...before, case: null }) !== fragmentOf({ ...state, case: null })) {
    showTheme();
    showFilters();
    showList();
  }
  showCase();
}

function start() {
  for (const id of ["filters", "list", "theme"]) byId(id).hidden = false;
  fillFilters();
  byId("filters").addEventListener("input", filtersChanged);
  byId("filters").addEventListener("reset", filtersCleared);
  byId("filters").addEventListener("submit", (event) => event.preventDefault());
  byId("list").addEventListener("keydown", moveAlong);
  byId("more").addEventListener("click", showMore);
  byId("theme").addEventListener("click", otherTheme);
  byId("case").addEventListener("close", caseClosed);
  byId("case").addEventListener("keydown", caseKeys);
  byId("case").addEventListener("mouseover", lightUp);
  document.addEventListener("click", followed);
  prefersDark.addEventListener("change", showTheme);
  addEventListener("hashchange", restore);
  addEventListener("popstate", restore);
  new IntersectionObserver((seen) => seen.some((each) => each.isIntersecting) && showMore(), { rootMargin: "600px" }).observe(byId("more"));
  restore();
}

start();
