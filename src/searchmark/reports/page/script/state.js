// What is shown, kept in the fragment of the address: a reload or a shared link shows the same.
const SWITCHES = ["failed", "flipped", "different", "leaky"];
const CHOICES = ["category", "tag", "status", "measure"];

let state = readState();

function readState() {
  const given = new URLSearchParams(location.hash.slice(1));
  const found = { q: given.get("q") ?? "", sort: given.get("sort") ?? "", case: given.get("case"), theme: given.get("theme") };
  for (const name of SWITCHES) found[name] = given.get(name) === "1";
  for (const name of CHOICES) found[name] = given.get(name) ?? "";
  return found;
}

function fragmentOf(shown) {
  const kept = new URLSearchParams();
  for (const [name, value] of Object.entries(shown)) {
    if (value) kept.set(name, value === true ? "1" : value);
  }
  return kept.toString();
}

// A case is a page of its own to the browser's back button; a filter is not.
function changeState(changes) {
  const opened = changes.case !== undefined && changes.case !== null && state.case === null;
  state = { ...state, ...changes };
  const address = "#" + fragmentOf(state);
  if (address === location.hash || (address === "#" && location.hash === "")) return;
  if (opened) history.pushState(null, "", address);
  else history.replaceState(null, "", address);
}
