"""What is said about labels: which fields were used, what is missing, which rules cannot fire, and how grades are spread."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from searchmark.labelling.agreement import Agreement, Kappa
from searchmark.labelling.catalogue import Catalogue
from searchmark.labelling.grading import ENOUGH_ATTRIBUTES, RULES
from searchmark.labelling.label import GRADES, Labels, Pair, rules_fired
from searchmark.labelling.lexicon import SHIPPED, count_phrases
from searchmark.labelling.review import Strata
from searchmark.labelling.roles import BRAND, CATEGORY
from searchmark.labelling.words import LONGEST_PHRASE

FAR_APART = 2
_SHOWN = 5


def summary(labels: Labels, synonyms: Path | None) -> Iterator[str]:
    """Sentences for the user, the data first."""
    catalogue, queries = labels.catalogue, labels.queries
    own = "" if synonyms is None else f", and {count_phrases(synonyms)} of {synonyms.name}"
    yield f"{len(catalogue.items):,} items, {len(queries)} queries"
    yield f"words: {count_phrases(SHIPPED)} phrases of the shipped list for fashion ({SHIPPED.name}){own}"
    yield from (field_sentence(catalogue, role) for role in catalogue.roles.fields)
    yield from _grades(labels)
    yield from impossible(labels)
    yield from _unknown_words(labels)


def field_sentence(catalogue: Catalogue, role: str) -> str:
    """Where the values of a role come from, and in how many items it is missing."""
    total, field, origins = len(catalogue.items), catalogue.roles.fields[role], catalogue.origins[role]
    source = "no field" if field is None else f"field {field}"
    unusable = catalogue.unusable[role]
    lacking = total - origins["field"] - unusable
    reasons = f"nested, longer than {LONGEST_PHRASE} letters, or no {role}"
    said = [f"{role}: {source}", *([f"not usable in {unusable:,} of {total:,} ({reasons})"] if unusable else [])]
    if not lacking:
        return ", ".join(said if unusable else [*said, "in every item"])
    unknown = lacking - origins["title"] - origins["description"]
    return (
        f"{', '.join(said)}, missing in {lacking:,} of {total:,}; found in the title of {origins['title']:,}, in the description "
        f"of {origins['description']:,}, unknown in {unknown:,}"
    )


def _grades(labels: Labels) -> Iterator[str]:
    totals = [sum(counts[grade] for counts in labels.counts.values()) for grade in GRADES]
    yield "pairs by grade: " + ", ".join(f"{grade}: {totals[grade]:,}" for grade in reversed(GRADES))
    fired = rules_fired(labels)
    yield "rules that fired: " + ", ".join(f"{rule} ({grade}): {fired[rule]:,}" for rule, grade in RULES.items())
    lacking = [labels.queries[query].text for query, counts in labels.counts.items() if not counts[2] + counts[3]]
    if lacking:
        yield f"no item has grade 2 or 3 for {len(lacking)} of {len(labels.queries)} queries: {_listed(lacking)}"
    unmet = [labels.queries[query].text for query, counts in labels.counts.items() if not any(counts[1:])]
    if unmet:
        yield (
            f"of these, all items have grade 0 for {len(unmet)}; each has one line of grade 0, and is a case that scores 0: "
            f"{_listed(unmet)}"
        )


def impossible(labels: Labels) -> Iterator[str]:
    """Rules that cannot fire, whatever an item is like."""
    catalogue = labels.catalogue
    if not any(value.role == BRAND for value in catalogue.postings):
        yield "the rule 'brand' can never fire: no item has a known brand (--fields brand=FIELD names the field)"
    if not any(_meets_category(labels, query) for query in labels.queries):
        values = _listed(catalogue.values_of(CATEGORY)) or "none is known"
        yield (
            "the rules 'category' and 'category and attributes' can never fire: no query names a category of the catalogue "
            f"({values}); --fields category=FIELD names another field, --synonyms relates words to categories"
        )
    short = [
        asked.text
        for query, asked in labels.queries.items()
        if len(_spans(labels, query)) < ENOUGH_ATTRIBUTES + 1 or not _meets_category(labels, query)
    ]
    if short:
        among = f"{len(short)} of {len(labels.queries)} queries"
        yield f"grade 3 is out of reach for {among}, which do not name two attributes beside a category: {_listed(short)}"


def _meets_category(labels: Labels, query: str) -> bool:
    """Whether any item is of a category that the query names."""
    return any(match.role == CATEGORY for verdict in labels.all[query].verdicts for match in verdict.matches)


def _spans(labels: Labels, query: str) -> list[str]:
    """The different phrases of a query that may count, one that can be both category and kind counted twice."""
    asked, lexicon = labels.asked[query], labels.catalogue.lexicon
    named = {lexicon.name(span.key): roles for span, roles in zip(asked.spans, asked.roles, strict=True)}
    both = [name for name, roles in named.items() if CATEGORY in roles and lexicon.broader(name)]
    return [name for name, roles in named.items() if roles and roles != {BRAND}] + both


def _unknown_words(labels: Labels) -> Iterator[str]:
    unknown = sorted({word for asked in labels.asked.values() for word in asked.unknown})
    negated = sorted({text for asked in labels.asked.values() for text in asked.negated})
    if negated:
        yield f"negated in queries, so that no item meets it there: {_listed(negated, 20)}"
    if unknown:
        yield f"words of queries that no field and no list knows ({len(unknown)}): {_listed(unknown, 20)}"


def _listed(texts: list[str], shown: int = _SHOWN) -> str:
    return ", ".join(texts[:shown]) + (f" and {len(texts) - shown} more" if len(texts) > shown else "")


def grades_by_stratum(strata: Strata, human: Mapping[Pair, int]) -> dict[str, list[int]]:
    """People's grades, by the stratum of their pair."""
    found: dict[str, list[int]] = {}
    for pair, grade in human.items():
        found.setdefault(strata.find(pair), []).append(grade)
    return found


def agreement_lines(found: Agreement, strata: Strata, human: Mapping[Pair, int]) -> Iterator[str]:
    """How far the graded sample and the rule agree, in lines for a terminal."""
    yield f"{found.pairs} pairs graded in the sample and by the rule: {found.equal} equal, {found.within_one} at most one apart"
    if found.undefined is not None:
        yield found.undefined
    else:
        yield f"weighted kappa of the sample, all its strata alike: {_shown(found.sample)}"
        if found.population is not None:
            yield f"weighted kappa of all pairs, each stratum weighted by its size: {_shown(found.population)}"
        elif found.unjudged:
            which = "; ".join(f"{stratum.name} ({stratum.size:,} pairs)" for stratum in found.unjudged)
            yield f"weighted kappa of all pairs: not known; none was judged of grade {which}"
        else:
            yield "weighted kappa of all pairs: not known; the sample is of another catalogue, other queries or another rule"
    yield ""
    yield "rule \\ sample" + "".join(f"{grade:>6}" for grade in GRADES)
    yield from (f"{grade:>13}" + "".join(f"{count:>6}" for count in found.confusion[grade]) for grade in GRADES)
    yield ""
    sizes = {stratum.name: stratum.size for stratum in strata.all}
    drawn = {name: len(grades) for name, grades in grades_by_stratum(strata, human).items()}
    yield "drawn by grade of the rule: " + "; ".join(f"{name}: {drawn.get(name, 0)} of {size:,}" for name, size in sizes.items())
    yield from _apart(strata, human)


def _shown(kappa: Kappa) -> str:
    if kappa.value is None:
        return "not defined"
    interval = ", too few pairs for an interval" if kappa.low is None else f", 95% interval {kappa.low:.2f} to {kappa.high:.2f}"
    return f"{kappa.value:.2f}{interval}"


def _apart(strata: Strata, human: Mapping[Pair, int]) -> Iterator[str]:
    """The pairs where both are far apart, and why the rule decided as it did."""
    for (query, item), grade in human.items():
        verdict = strata.labels.verdict((query, item))
        if abs(grade - verdict.grade) >= FAR_APART:
            title = strata.labels.catalogue.items[strata.labels.catalogue.rows[item]].title or item
            seen = ", ".join(f"{match.role} {match.value} ({match.origin})" for match in verdict.matches) or "nothing"
            text = strata.labels.queries[query].text
            yield f"far apart: {text!r} and {title!r}: sample {grade}, rule {verdict.grade} ({verdict.rule}: {seen})"
