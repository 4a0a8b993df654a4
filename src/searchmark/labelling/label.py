"""A catalogue and a list of queries become graded labels, written with the rule that fired and what it saw."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from searchmark.corpora.corpus import Corpus
from searchmark.labelling.catalogue import Catalogue, read_catalogue
from searchmark.labelling.grading import RULES, Asked, Graded, PhraseMatch, RuleVerdict, grade, take_apart
from searchmark.labelling.lexicon import read_lexicon
from searchmark.labelling.roles import parse_roles
from searchmark.suites.queries import ListedQuery

GRADES = (0, 1, 2, 3)
NOTHING = RuleVerdict(0, "none", ())
HUMAN = "human"

Pair = tuple[str, str]  # ids of query and item


@dataclass(frozen=True, eq=False)
class Labels:
    """Every query with its grades."""

    catalogue: Catalogue
    queries: Mapping[str, ListedQuery]

    @cached_property
    def asked(self) -> dict[str, Asked]:
        return {query.id: take_apart(query.text, self.catalogue) for query in self.queries.values()}

    @cached_property
    def all(self) -> dict[str, Graded]:
        """The grades of every query."""
        return {query: grade(asked, self.catalogue) for query, asked in self.asked.items()}

    @cached_property
    def _ids_as_json(self) -> list[str]:
        return [_json(item) for item in self.catalogue.ids]

    def verdict(self, pair: Pair) -> RuleVerdict:
        """What the rule says of one pair."""
        graded, row = self.all[pair[0]], self.catalogue.rows[pair[1]]
        return next((graded.verdicts[of] for at, of in zip(graded.rows, graded.verdict_of, strict=True) if at == row), NOTHING)

    def type_of(self, query: str) -> str:
        return self.queries[query].type or self.asked[query].type

    @cached_property
    def counts(self) -> dict[str, tuple[int, ...]]:
        """Per query, how many items have each grade."""
        import numpy as np

        counts = {}
        for query in self.queries:
            graded = self.all[query]
            grades = np.array([verdict.grade for verdict in graded.verdicts], np.int64)[graded.verdict_of]
            found = np.bincount(grades, minlength=len(GRADES)).tolist()
            counts[query] = (len(self.catalogue.items) - sum(found[1:]), *found[1:])
        return counts

    def lines(self, *, zeros: bool = False, human: Mapping[Pair, int] | None = None) -> Iterator[str]:
        """The lines of ``labels.jsonl``: by query in its order, then by item in the order of the catalogue."""
        for query in self.queries:
            judged = {self.catalogue.rows[item]: given for (of, item), given in (human or {}).items() if of == query}
            yield from self._lines_of(query, zeros, judged)

    def _lines_of(self, query: str, zeros: bool, judged: Mapping[int, int]) -> Iterator[str]:
        """Most lines of a query differ in the id alone, so the rest is made once per verdict."""
        graded, ids = self.all[query], self._ids_as_json
        about = {"query_id": query, "query": self.queries[query].text, "type": self.type_of(query)}
        begin = f'{_json(about)[:-1]}, "item_id": '
        ends = [f", {_json(_said(verdict))[1:]}\n" for verdict in (*graded.verdicts, NOTHING)]
        verdict_of = dict(zip(graded.rows.tolist(), graded.verdict_of.tolist(), strict=True))
        # A query that no item meets is judged too: without any line it would be no case, and its score of 0 would not count.
        for row in range(len(ids)) if zeros else sorted({*verdict_of, *judged}) or [0]:
            if row in judged:
                yield f"{begin}{ids[row]}, {_json({'grade': judged[row], 'rule': HUMAN})[1:]}\n"
            else:
                yield f"{begin}{ids[row]}{ends[verdict_of.get(row, -1)]}"


def label(
    corpus: Corpus, queries: Mapping[str, ListedQuery], *, fields: tuple[str, ...] = (), synonyms: Path | None = None
) -> Labels:
    """Grade the items of a corpus for every query by what its fields, titles and descriptions say."""
    items = list(corpus)
    lexicon = read_lexicon(synonyms)
    names = {name for item in items for name in item.fields}
    sections = sorted({role for roles in lexicon.roles.values() for role in roles})
    return Labels(read_catalogue(items, lexicon, parse_roles(fields, names, sections)), queries)


def _said(verdict: RuleVerdict) -> dict[str, Any]:
    return {"grade": verdict.grade, "rule": verdict.rule, "matched": matched(verdict.matches)}


def matched(matches: Sequence[PhraseMatch]) -> dict[str, list[dict[str, str]]]:
    """What was matched, by role: the phrase of the query, the value that it met, and where that was found."""
    found: dict[str, list[dict[str, str]]] = {}
    for match in matches:
        found.setdefault(match.role, []).append({"query": match.phrase, "value": match.value, "from": match.origin})
    return found


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def rules_fired(labels: Labels) -> dict[str, int]:
    """How many pairs each rule has graded."""
    import numpy as np

    fired = dict.fromkeys(RULES, 0)
    for query in labels.queries:
        graded = labels.all[query]
        for verdict, count in zip(
            graded.verdicts, np.bincount(graded.verdict_of, minlength=len(graded.verdicts)).tolist(), strict=True
        ):
            fired[verdict.rule] += count
    fired["none"] = len(labels.queries) * len(labels.catalogue.items) - sum(fired.values())
    return fired
