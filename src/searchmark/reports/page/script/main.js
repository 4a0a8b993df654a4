// Puts the parts together.
function options(select, all, names) {
  const chosen = select.id === "measure" ? [] : [element("option", { value: "" }, all)];
  select.replaceChildren(...chosen, ...names.map((name) => element("option", { value: name }, name)));
  select.closest("label").hidden = names.length < 2;
}

function distinct(names) {
  return [...new Set(names)].filter(Boolean).sort(collator.compare);
}

function fillFilters() {
  options(byId("measure"), "", DATA.measures);
  options(byId("category"), "all", distinct(ROWS.map(categoryOf)));
  options(byId("tag"), "all", distinct(ROWS.flatMap(tagsOf)));
  options(byId("status"), "all", distinct(ROWS.flatMap((row) => DATA.answers.map((_, run) => DATA.statuses[statusOf(run, row)]))));
  for (const name of ["flipped", "different"]) byId(name).closest("label").hidden = DATA.answers.length < 2;
  byId("leaky").closest("label").hidden = LEAKY.size === 0;
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
  const theme = ["light", "dark"].includes(state.theme) ? state.theme : null;
  document.documentElement.dataset.theme = theme ?? "";
  const dark = theme === null ? prefersDark.matches : theme === "dark";
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
    showSegment({ category: button.dataset.category ?? "", tag: button.dataset.tag ?? "" });
  }
}

function showSegment(segment) {
  changeState(segment);
  showFilters();
  showList();
  goTo("cases");
}

function restore() {
  state = readState();
  showTheme();
  showFilters();
  showList();
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
