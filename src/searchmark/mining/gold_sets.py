"""A gold set from one repository or several: mined, written as it comes, and the same bytes whatever the order of work."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple

from searchmark.config import DatasetConfig
from searchmark.errors import NothingEvaluated, UsageError
from searchmark.files.store import collector_paused
from searchmark.history.log import span_of
from searchmark.history.repository import Repository, open_repository
from searchmark.mining.cases import Rewrite, Row, build_cases, timestamp
from searchmark.mining.rewriting import described
from searchmark.mining.selection import Selection, select
from searchmark.suites.gold_set import write_rows


class Source(NamedTuple):
    """A repository to mine and what its cases call it."""

    name: str
    path: str


class Progress(NamedTuple):
    """How far the mining of one repository is: commits read or cases made, of how many, and how many were kept."""

    name: str
    phase: str
    done: int
    total: int | None
    kept: int


@dataclass
class Mined:
    """What is known of a repository once it has been mined."""

    source: Source
    about: dict[str, Any] = field(default_factory=dict)
    newest: int | None = None


OnProgress = Callable[[Progress], None]


def parse_sources(given: Sequence[Source | str]) -> list[Source]:
    """``PATH`` or ``NAME=PATH``; a repository without a name gets that of its folder."""
    sources = [_source(one) if isinstance(one, str) else one for one in given]
    twice = [name for name, count in Counter(source.name for source in sources).items() if count > 1]
    if twice:
        raise UsageError(f"two repositories are named {twice[0]!r}; name them with NAME=PATH")
    return sources


def _source(text: str) -> Source:
    name, sign, path = text.partition("=")
    if sign and name and path and "/" not in name and not Path(text).exists():
        return Source(name, path)
    folder = Path(text).resolve()
    own = folder.parent.name if folder.name == ".git" else folder.name.removesuffix(".git")
    return Source(own or "repository", text)


def generate_gold_set(
    repositories: Sequence[Source | str],
    output: str | PathLike[str],
    options: DatasetConfig = DatasetConfig(),
    *,
    jobs: int = 1,
    rewrite: Rewrite | None = None,
    on_progress: OnProgress | None = None,
) -> dict[str, Any]:
    """Mine repositories, given as ``PATH`` or ``NAME=PATH``, and write a gold set; returns its metadata.

    The file is written whole or not at all. Repositories are mined side by side, unless queries are rewritten: that
    shares one budget.
    """
    mined = [Mined(source) for source in parse_sources(repositories)]
    written: dict[str, Any] = {}

    def rows() -> Iterator[Row]:
        if jobs > 1 and len(mined) > 1 and rewrite is None:
            from searchmark.mining.parallel import mine_side_by_side

            yield from mine_side_by_side(mined, options, jobs, on_progress)
        else:
            for one in mined:
                yield from mine(one, options, rewrite, on_progress)

    def metadata() -> dict[str, Any]:
        written.update(_metadata(mined, options))
        return written

    with collector_paused():
        write_rows(output, rows(), metadata)
    return written


def mine(
    mined: Mined, options: DatasetConfig, rewrite: Rewrite | None = None, on_progress: OnProgress | None = None
) -> Iterator[Row]:
    """The rows of one repository; what else there is to know is in ``mined`` once the last one has come."""
    name, path = mined.source
    with open_repository(path) as repository:
        selection = _selected(repository, name, options, on_progress)
        tell = None if on_progress is None else lambda done, total: on_progress(Progress(name, "cases", done, total, done))
        cases = unreachable = 0
        for row in build_cases(repository, name, selection, options, rewrite, tell):
            cases += 1
            unreachable += len(row["unreachable_files"])
            yield row
        mined.newest = selection.newest
        mined.about.update(_about(path, repository, selection, cases, unreachable))


def _selected(repository: Repository, name: str, options: DatasetConfig, on_progress: OnProgress | None) -> Selection:
    if on_progress is None:
        return select(repository, options)
    total = count_commits(repository, options)
    return select(repository, options, lambda read, kept: on_progress(Progress(name, "commits", read, total, kept)))


def count_commits(repository: Repository, options: DatasetConfig) -> int:
    """How many commits there are to read, which only a progress bar wants to know."""
    tip, excluded = span_of(repository, options.revisions)
    flags = ["--first-parent"] if options.first_parent else []
    return int(repository.run("rev-list", "--count", *flags, tip, *([] if excluded is None else [f"^{excluded}"])))


def _about(path: str, repository: Repository, selection: Selection, cases: int, unreachable: int) -> dict[str, Any]:
    return {
        "path": path,
        "commit": selection.tip,
        **({} if selection.excluded is None else {"behind": selection.excluded}),
        "object_format": repository.object_format,
        "shallow": bool(repository.shallow),
        "commits_analyzed": selection.read,
        "commits_passed": selection.read - sum(selection.ledger.counts.values()),
        "test_cases": cases,
        "unreachable_files": unreachable,
        "ledger": selection.ledger.as_dict(),
        **({"malformed": selection.malformed} if selection.malformed else {}),
    }


def _metadata(mined: Sequence[Mined], options: DatasetConfig) -> dict[str, Any]:
    abouts = [one.about for one in mined]
    cases = sum(about["test_cases"] for about in abouts)
    if not cases:
        raise NothingEvaluated(_nothing_left(mined))
    settings = {name: value for name, value in asdict(options).items() if name != "repository_path"}
    if options.rewriter is not None:
        settings["rewriter"] = described(options.rewriter)
    return {
        "repository": ", ".join(one.source.name for one in mined),
        "generated_at": timestamp(max(one.newest for one in mined if one.newest is not None)),
        "total_commits_analyzed": sum(about["commits_analyzed"] for about in abouts),
        "test_cases_generated": cases,
        "unreachable_files": sum(about["unreachable_files"] for about in abouts),
        "repositories": {one.source.name: one.about for one in mined},
        "options": settings,
    }


def _nothing_left(mined: Iterable[Mined]) -> str:
    removed: Counter[str] = Counter()
    read = 0
    for one in mined:
        read += one.about["commits_analyzed"]
        removed.update({rule: entry["commits"] for rule, entry in one.about["ledger"].items()})
    most = ", ".join(f"{rule} {count}" for rule, count in removed.most_common(3))
    return f"none of {read} commits passes the filters ({most or 'there was nothing to read'}); no file was written"
