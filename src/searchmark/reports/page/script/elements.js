// Elements are made, never parsed: whatever a text says, it stays a text.
function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (value === null || value === false || value === undefined) continue;
    if (key.startsWith("on")) made.addEventListener(key.slice(2), value);
    else made.setAttribute(key, value === true ? "" : value);
  }
  made.append(...children.flat().filter((child) => child !== null && child !== undefined && child !== ""));
  return made;
}

const byId = (id) => document.getElementById(id);
const quiet = (...children) => element("span", { class: "quiet" }, ...children);
const chip = (tone, ...children) => element("span", { class: `chip ${tone}` }, ...children);

// A path may be broken after its slashes.
function pathParts(path) {
  const parts = path.split("/");
  return parts.flatMap((part, at) => (at + 1 < parts.length ? [part + "/", element("wbr")] : [part]));
}

const withModifier = (event) => event.altKey || event.ctrlKey || event.metaKey || event.shiftKey;
