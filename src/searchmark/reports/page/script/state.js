// What is shown, kept in the fragment of the address: a reload or a shared link shows the same.
const SWITCHES = ["failed", "flipped", "different", "leaky"];
const CHOICES = ["category", "tag", "status", "measure"];

// What a choice, a switch or the order may be, by name: nothing is filtered by what no control shows.
const possible = {};
const known = (name, value) => (possible[name].includes(value) ? value : "");

let state = null;

function readState() {
  const given = new URLSearchParams(location.hash.slice(1));
  const found = { q: given.get("q") ?? "", case: DATA.ids.includes(given.get("case")) ? given.get("case") : null };
  for (const name of SWITCHES) found[name] = known(name, given.get(name)) === "1";
  for (const name of [...CHOICES, "sort", "theme"]) found[name] = known(name, given.get(name));
  return found;
}

function fragmentOf(shown) {
  const kept = new URLSearchParams();
  for (const [name, value] of Object.entries(shown)) {
    if (value) kept.set(name, value === true ? "1" : value);
  }
  return kept.toString();
}

// On the way back from a case that was opened here; the browser takes a moment.
let leaving = false;

// A case is a page of its own to the browser's back button, and closing it is going back; a filter is not.
function changeState(changes) {
  const before = state.case;
  state = { ...state, ...changes };
  if (leaving) return;
  if (before !== null && state.case === null && history.state?.opened) {
    leaving = true;
    history.back();
  } else {
    writeState(before === null && state.case !== null);
  }
}

function writeState(opened) {
  const address = "#" + fragmentOf(state);
  if (address === (location.hash || "#")) return;
  if (opened) history.pushState({ opened: true }, "", address);
  else history.replaceState(history.state, "", address);
}

// Whatever was changed on the way back is written where it ended.
function arrived() {
  leaving = false;
  writeState(state.case !== null);
}
