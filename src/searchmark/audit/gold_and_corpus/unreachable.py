"""What is said of targets that are not in the corpus: all of them, most, or some."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from searchmark.audit.gold_and_corpus.missing import SHOWN, MissingTargets
from searchmark.audit.gold_and_corpus.renamed import new_names_of
from searchmark.audit.subject import Subject
from searchmark.findings import Finding, finding
from searchmark.findings.sentences import share


def missing_targets(subject: Subject) -> Iterator[Finding]:
    """All targets missing is another thing than some: then nothing was measured. What has a new name is said elsewhere."""
    missing = MissingTargets.of_subject(subject)
    if missing is None:
        return
    renamed = new_names_of(subject, missing)
    if missing.is_all:
        none = f"none of the {missing.of} relevant targets is in the corpus" if missing.of > 1 else "its target is not there"
        yield finding(
            "all-targets-missing", f"{none}: {_examples(missing, missing.targets, renamed)}", dict.fromkeys(missing.cases)
        )
    elif missing.is_most:
        count = len(missing.targets)
        message = f"{count} of {missing.of} relevant targets ({share(count, missing.of)}) are not in the corpus"
        shown = _examples(missing, missing.targets, renamed)
        yield finding("most-targets-missing", f"{message}: {shown}", dict.fromkeys(missing.cases))
    else:
        yield from _some(missing, renamed)


def _some(missing: MissingTargets, renamed: Mapping[str, str]) -> Iterator[Finding]:
    rest = [each for each in zip(missing.targets, missing.cases, strict=True) if each[0] not in renamed]
    if rest:
        others = f" (beside {len(renamed)} that seem to be renamed)" if renamed else ""
        message = f"{len(rest)} of {missing.of} relevant targets ({share(len(rest), missing.of)}) are not in the corpus{others}"
        shown = _examples(missing, [target for target, _ in rest], renamed)
        yield finding("unreachable-targets", f"{message}: {shown}", dict.fromkeys(case for _, case in rest))


def _examples(missing: MissingTargets, targets: Sequence[str], renamed: Mapping[str, str]) -> str:
    """What is looked for and what is there, and what would make them fit."""
    distinct, remedy = list(dict.fromkeys(targets)), missing.remedy
    if remedy is not None:
        return remedy.shown(targets)
    shown = missing.near.shown(*distinct[:SHOWN], both_sides=missing.is_all, known=renamed)
    return shown + _more(len(distinct) - SHOWN)


def _more(rest: int) -> str:
    return f" and {rest} others" if rest > 0 else ""
