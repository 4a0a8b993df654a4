// Which cases are listed, and in which order.
const shownMeasure = () => Math.max(0, DATA.measures.indexOf(state.measure));

// Only what both runs measured can have flipped, or differ.
const isFailed = (row) => DATA.answers.some((_, run) => hasFailed(run, row));
const isFlipped = (row) => isMeasured(0, row) && isMeasured(1, row) && hasFailed(0, row) !== hasFailed(1, row);
const isDifferent = (row) => DIFFERENT[shownMeasure()]?.has(row);
const difference = (row) => DATA.differences[shownMeasure()]?.[row] ?? null;

const haystacks = new Map();

// All that the search box looks into, made when a case is first looked at.
function haystack(row) {
  if (!haystacks.has(row)) {
    const hits = DATA.answers.flatMap((answers) => entries(answers, "hits", row));
    const targets = DATA.expected[row].filter((_, at) => at % 3 === 0);
    const named = [...new Set([...targets, ...hits])].map(text);
    haystacks.set(row, [DATA.ids[row], queryOf(row), categoryOf(row), ...named].join("\n").toLowerCase());
  }
  return haystacks.get(row);
}

// What is looked for: words, each anywhere, and phrases in quotes.
function wantedWords() {
  return [...state.q.toLowerCase().matchAll(/"([^"]+)"?|[^\s"]+/g)].map(([word, phrase]) => phrase ?? word);
}

function selectedRows() {
  const words = wantedWords();
  const tests = [
    [state.failed, isFailed],
    [state.flipped, isFlipped],
    [state.different, isDifferent],
    [state.leaky, (row) => LEAKY.has(row)],
    [state.category, (row) => categoryOf(row) === state.category],
    [state.tag, (row) => tagsOf(row).includes(state.tag)],
    [state.status, (row) => DATA.answers.some((_, run) => DATA.statuses[statusOf(run, row)] === state.status)],
    [words.length, (row) => words.every((word) => haystack(row).includes(word))],
  ].filter(([wanted]) => wanted);
  return ordered(ROWS.filter((row) => tests.every(([, test]) => test(row))));
}

// What a column is sorted by: "case", "query", "category", "difference", or the number of a run.
function sortKey(column) {
  if (column === "case") return (row) => DATA.ids[row];
  if (column === "query") return queryOf;
  if (column === "category") return categoryOf;
  if (column === "difference") return difference;
  return (row) => valueOf(Number(column), shownMeasure(), row);
}

const collator = new Intl.Collator("en", { numeric: true });

// Undefined values come last in either direction; equal ones keep the order of the suite.
function ordered(rows) {
  const [, down, column] = /^(-?)(.+)$/.exec(state.sort) ?? [];
  if (column === undefined) return rows;
  const key = sortKey(column);
  const keys = new Map(rows.map((row) => [row, key(row)]));
  const sign = down ? -1 : 1;
  return rows.sort((one, other) => compareKeys(keys.get(one), keys.get(other), sign));
}

function compareKeys(one, other, sign) {
  if (one === null || other === null) return (one === null) - (other === null);
  return sign * (typeof one === "string" ? collator.compare(one, other) : one - other);
}
