// What the report knows of its cases. A column is a list with an entry per case, or an object of those cases that have one.
const DATA = JSON.parse(document.getElementById("data").textContent);
const ROWS = DATA.ids.map((_, row) => row);
const STATUS_OK = 0;

const text = (number) => DATA.texts[number];
const entry = (answers, column, row) => answers[column]?.[row] ?? null;
const entries = (answers, column, row) => entry(answers, column, row) ?? [];

const valueOf = (run, measure, row) => DATA.answers[run].values[measure]?.[row] ?? null;
const statusOf = (run, row) => entry(DATA.answers[run], "status", row) ?? STATUS_OK;
const failureReasons = (run, row) => entries(DATA.answers[run], "failed", row).map(text);
const hasFailed = (run, row) => entry(DATA.answers[run], "failed", row) !== null;
const isMeasured = (run, row) => DATA.measures.some((_, measure) => valueOf(run, measure, row) !== null);
const categoryOf = (row) => (DATA.categories[row] === null ? "" : text(DATA.categories[row]));
const tagsOf = (row) => DATA.tags[row].map(text);
const queryOf = (row) => DATA.queries[row] ?? "";

const LEAKY = new Set(DATA.leaky);
const UNANSWERABLE = new Set(DATA.unanswerable);
const DIFFERENT = DATA.different.map((rows) => new Set(rows));

// Groups of a list that has `size` parts per thing.
function grouped(list, size) {
  const groups = [];
  for (let at = 0; at < list.length; at += size) groups.push(list.slice(at, at + size));
  return groups;
}

function targetsOf(row) {
  return grouped(DATA.expected[row], 3).map(([target, match, grade]) => ({ target: text(target), match: DATA.matches[match], grade }));
}

function hitsOf(run, row) {
  const answers = DATA.answers[run];
  const scores = entries(answers, "scores", row);
  const hits = entries(answers, "hits", row).map((id, at) => ({ number: id, id: text(id), rank: at + 1, score: scores[at] ?? null, grade: null }));
  for (const [at, grade] of grouped(entries(answers, "grades", row), 2)) hits[at].grade = grade;
  for (const [at, first, last] of grouped(entries(answers, "lines", row), 3)) hits[at].lines = [first, last];
  for (const [at, said] of grouped(entries(answers, "hit_texts", row), 2)) hits[at].text = text(said);
  for (const at of entries(answers, "missing", row)) hits[at].missing = true;
  return hits;
}

const digits = (value) => (value === null ? "–" : value.toFixed(4));
const signed = (value) => (value === null ? "–" : (value < 0 || Object.is(value, -0) ? "-" : "+") + Math.abs(value).toFixed(4));
const counted = (count) => (count === 1 ? "1 case" : `${count} cases`);
