"""What is searched, as far as it was said, and which fields of documents cases need to be judged."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, pairwise
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from searchmark.config.inputs import CorpusInputSettings
from searchmark.config.option import Option
from searchmark.config.strict import short_repr
from searchmark.errors import UsageError, shortened
from searchmark.formats.corpora.corpus import Corpus, Survey, corpus_of, local_path
from searchmark.formats.corpora.source import FieldMapping, FieldTable, value_of
from searchmark.io.paths import expand_paths, is_address
from searchmark.records.document import Document, field_texts
from searchmark.records.judgments import MATCHES
from searchmark.records.provenance import PARENT, WORK_TREE
from searchmark.records.suite import Suite

if TYPE_CHECKING:
    from searchmark.git.clones import RepositoryAddress, RepositorySource

HEAD_SNAPSHOT = "head"


@dataclass(frozen=True)
class SearchScope(CorpusInputSettings):
    """What is searched, as far as the suite does not say it itself.

    ``corpus`` is a folder or file for all cases, and ``files`` says which files of a folder or snapshot are searched; its kinds
    take precedence over those that ``candidates`` implies.
    """

    repositories: Annotated[
        tuple[str, ...],
        Option(
            "Folder to search, or URL@COMMIT of a repository; with NAME for the cases that name it; repeatable.",
            ("--repo",),
            "[NAME=]PATH",
        ),
    ] = ()
    snapshots: Annotated[
        tuple[str, ...],
        Option("State of the repository: parent (of each case's commit), head, worktree, or a revision.", ("--snapshot",), "WHEN"),
    ] = ()
    candidates: Annotated[
        Literal["gold", "all"], Option("Files of a snapshot that are searched: those that targets were chosen from, or all.")
    ] = "gold"
    # The folder of the gold set. A path that it names is looked for from here too, and is used only if it is that of a repository
    # with the commits of its cases.
    base: Path | None = None
    repository_path: str | None = None  # for cases that name no repository
    service: str | None = None  # the name of one that has its own corpus
    documents: Corpus | None = None  # a corpus in memory, in place of ``corpus``

    __repr__ = short_repr

    def __post_init__(self) -> None:
        expand_paths(self, "corpus", "repositories", "repository_path")

    @property
    def named(self) -> list[RepositorySource]:
        """The repositories that were named, or else that of the config."""
        from searchmark.git.sources import given_repositories

        return given_repositories(self.repositories, self.repository_path)

    def addresses(self) -> dict[Path, RepositoryAddress | str]:
        """By path on this machine, where it is by now, the address of what was named by one."""
        from searchmark.git.clones import clone_source

        clones = {clone_source(each, network=False).path: each.address for each in self.named if each.address is not None}
        addresses: dict[Path, RepositoryAddress | str] = {Path(path).resolve(): address for path, address in clones.items()}
        if self.corpus is not None and is_address(self.corpus):
            addresses[local_path(self.corpus, network=False).resolve()] = self.corpus
        return addresses


def scope_of_corpus(corpus: Any) -> SearchScope:
    """What `run_suite` is given to search: a path, a `Corpus`, or documents in a list, as records or as mappings."""
    if corpus is None or isinstance(corpus, str | PathLike):
        return SearchScope(corpus=None if corpus is None else str(corpus))
    if isinstance(corpus, Corpus):
        return SearchScope(documents=corpus)
    if not isinstance(corpus, Iterable) or isinstance(corpus, Mapping) or hasattr(corpus, "columns"):
        kind = type(corpus).__name__
        raise UsageError(f"{kind} is not a corpus; give a path, a list of documents, or Corpus.from_frame(...) of a table")
    return SearchScope(documents=Corpus.of("documents", [_document(each, place) for place, each in enumerate(corpus)]))


def _document(entry: Any, place: int) -> Document:
    document = (
        entry if isinstance(entry, Document) else FieldMapping().document(dict(entry)) if isinstance(entry, Mapping) else None
    )
    if not isinstance(document, Document):
        why = document or f"is {shortened(repr(entry), 60)}, not a document: Document(id, text), or a mapping with id and text"
        raise UsageError(f"entry {place} of the corpus {why}")
    return document


def snapshots_to_search(suite: Suite, where: SearchScope) -> list[str | None]:
    """The snapshots to search: those that were named, or the parents for a suite that was mined, or none."""
    if where.snapshots:
        if where.corpus is not None:
            raise UsageError("--snapshot is a state of a repository, and --corpus is not a repository; name one with --repo")
        return list(dict.fromkeys(where.snapshots))
    elsewhere = any(each is not None for each in (where.corpus, where.documents, where.service))
    mined = suite.table.fields is not None and all("parent_commit" in fields for fields in suite.table.fields)
    if elsewhere:
        return [None]
    return [PARENT] if mined else [HEAD_SNAPSHOT] if _names_only_commits(suite, where) else [None]


def _names_only_commits(suite: Suite, where: SearchScope) -> bool:
    """Whether nothing is named but repositories by address, which have no files that lie anywhere."""
    brings_documents = suite.table.documents is not None and not where.repositories
    sources = where.named
    return bool(sources) and not brings_documents and all(source.address is not None for source in sources)


def scope_of_agent(suite: Suite, where: SearchScope, agent: str, *, own_corpus: bool | None) -> SearchScope:
    """What one agent searches, by name: one with its own corpus is asked for none. None: whether it has one is not known.

    A corpus that is named is what its hits are checked against. It cannot travel in time: at commits it is a service.
    """
    if own_corpus is False or where.service is not None:
        return where
    if not _names_something(suite, where):
        from searchmark.git.sources import claims_repositories

        return where if own_corpus is None and claims_repositories(suite) else SearchScope(service=agent)
    if own_corpus is None:
        return where
    present = [each for each in snapshots_to_search(suite, where) if each in (None, WORK_TREE)]
    return replace(where, snapshots=tuple(filter(None, present))) if present else SearchScope(service=agent)


def _names_something(suite: Suite, where: SearchScope) -> bool:
    sources = (where.corpus, where.documents, where.repository_path)
    return bool(where.repositories) or suite.table.documents is not None or any(each is not None for each in sources)


# Documents that a suite excludes by a field, ``exclude: {deprecated: true}``: globs and symbols of a case never mean them.


def with_exclusions(suite: Suite, survey: Survey | None) -> Suite:
    """The suite, its cases knowing the ids of the documents that they exclude; as it is where the corpus is not known.

    No digest of the suite is changed by that. Nothing is read where no case excludes anything.
    """
    table = excluded_fields(suite, survey)
    if table is None or suite.table.excludes is None:
        return suite
    ids_by_exclusion: dict[str, frozenset[str]] = {}
    for exclude in suite.table.excludes:
        excluded = (table.having(name, field_texts(values)) for name, values in exclude.items())
        ids_by_exclusion.setdefault(repr(exclude), frozenset().union(*excluded))
    ids = tuple(ids_by_exclusion[repr(exclude)] for exclude in suite.table.excludes)
    return replace(suite, table=replace(suite.table, excluded_ids=ids))


def excluded_fields(suite: Suite, survey: Survey | None) -> FieldTable | None:
    """Who has which value of the fields that cases exclude by; None where there are none, or no documents to ask."""
    names = {name for exclude in suite.table.excludes or () for name in exclude}
    if not names or survey is None or survey.fields is None:
        return None
    return survey.fields.table(names)


# Fields that cases have from the documents they look for: ``target.category`` is the category of what is right.

TARGET_PREFIX = "target."


def fields_of_targets(names: Iterable[str]) -> list[str]:
    """Those of some names of fields that are about targets, without what says so."""
    return list(dict.fromkeys(name.removeprefix(TARGET_PREFIX) for name in names if name.startswith(TARGET_PREFIX)))


def with_target_fields(
    suite: Suite, names: Iterable[str], corpus: Corpus | None, fold: Callable[[str], str] = str.casefold
) -> Suite:
    """The suite, each of its cases with the value that most of its relevant targets have of fields like ``target.category``.

    Values that ``fold`` makes equal are one, written as most documents write it; of several that are equally frequent, that
    of the first target is taken, so that the segments add up to all cases. No digest of the suite changes. Without such
    names nothing is read.
    """
    fields = fields_of_targets(names)
    if not fields:
        return suite
    if corpus is None and suite.table.documents is None:
        raise UsageError(f"{TARGET_PREFIX}{fields[0]} is a field of the documents that are looked for; name these with --corpus")
    targets_of_cases = _relevant_targets(suite)
    values = _values_of_targets(corpus or corpus_of(suite), {*chain.from_iterable(targets_of_cases)}, fields)
    before: Sequence[Mapping[str, Any]] = suite.table.fields or ({},) * len(suite)
    spellings = Counter(value for document in values.values() for texts in document.values() for value in texts)
    usual = {fold(value): value for value, _ in reversed(spellings.most_common())}
    after = tuple(
        {**case_fields, **_target_fields_of_case(targets, values, fields, lambda value: usual[fold(value)])}
        for case_fields, targets in zip(before, targets_of_cases, strict=True)
    )
    return replace(suite, table=replace(suite.table, fields=after))


def _relevant_targets(suite: Suite) -> list[list[str]]:
    """The targets of every case that are named by id or path and are relevant as the suite means it."""
    judgments, id_or_path = suite.judgments, {MATCHES.index(how) for how in ("id", "path")}
    relevant = (judgments.grades >= max(suite.defaults.rel, 1)).tolist()
    match = None if judgments.match is None else judgments.match.tolist()
    starts = judgments.starts.tolist()
    return [
        [judgments.targets[row] for row in range(start, end) if relevant[row] and (match is None or match[row] in id_or_path)]
        for start, end in pairwise(starts)
    ]


def _values_of_targets(corpus: Corpus, targets: set[str], fields: Sequence[str]) -> dict[str, dict[str, tuple[str, ...]]]:
    """Of every wanted document the values of each field. A field that no document has is a mistake in typing."""
    values: dict[str, dict[str, tuple[str, ...]]] = {}
    field_names: dict[str, None] = {}
    for document in corpus:
        field_names.update(dict.fromkeys(document.fields))
        if document.id in targets:
            values[document.id] = {field: _as_texts(value_of(document, field)) for field in fields}
    unknown = next((field for field in fields if field not in field_names and field != "title"), None)
    if unknown is not None:
        there = ", ".join(sorted(field_names)) or "none"
        raise UsageError(f"no document of {corpus.name!r} has a field {unknown!r}; there are: {there}")
    return values


def _as_texts(value: Any) -> tuple[str, ...]:
    """The values of a field, each as text; what is blank or nested says nothing to split by."""
    each = value if isinstance(value, list | tuple) else (value,)
    texts = (str(part).strip() for part in each if isinstance(part, str | int | float | bool))
    return tuple(dict.fromkeys(filter(None, texts)))


def _target_fields_of_case(
    targets: Sequence[str],
    values: Mapping[str, Mapping[str, tuple[str, ...]]],
    fields: Sequence[str],
    spell: Callable[[str], str],
) -> dict[str, str]:
    target_values = [values[target] for target in targets if target in values]
    counts = {field: Counter(spell(value) for each in target_values for value in each[field]) for field in fields}
    return {f"{TARGET_PREFIX}{field}": each.most_common(1)[0][0] for field, each in counts.items() if each}
