"""Which repository a case is from, and what its commit changed."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from searchmark.errors import UsageError, shortened
from searchmark.git.clones import RepositorySource, clone_source, parse_repository
from searchmark.git.repository import CLONE_ALL, FULL_HASH, open_repository
from searchmark.io.network import network_allowed
from searchmark.io.paths import is_address
from searchmark.records.sentences import quote_name
from searchmark.records.suite import Case, Suite

# Where a gold set says that its repositories are. That is a claim of the file's author, so it is checked.
#
# A path is used only if it is that of a Git repository that holds the commits of the cases: a gold set cannot make us read
# what it does not know already.

_HASH = re.compile(r"[0-9a-f]{4,64}")  # whole or shortened; anything else might be a revision that every repository has

_LONGEST_PATH = 100

_LONGEST_ADDRESS = 300


def mined_repositories(suite: Suite, base: Path | None, given_names: Collection[str | None]) -> dict[str | None, Path]:
    """Folders by the name that cases have for them, apart from those in ``given_names``; one without a name is meant for all."""
    claims = suite.metadata.get("repositories")
    if not isinstance(claims, Mapping) or None in given_names:
        return {}
    folders: dict[str | None, Path] = {}
    for name, entry in claims.items():
        cases = [case for case in suite.cases if _is_from(case, name, single=len(claims) == 1)]
        if name not in given_names and cases and isinstance(entry, Mapping) and "path" in entry:
            folders[name] = _check_claim(entry["path"], base, cases, f"{name}=PATH{_wrong_names(given_names, claims)}")
    return folders


def _wrong_names(given_names: Collection[str | None], claims: Mapping[object, object]) -> str:
    """Names that were given and that no case has, beside those that there are."""
    strange = ", ".join(repr(shortened(str(each), _LONGEST_PATH)) for each in given_names if each not in claims)
    return f" (--repo names {strange}; this gold set has {', '.join(repr(each) for each in claims)})" if strange else ""


def claims_repositories(suite: Suite) -> bool:
    """Whether a gold set says at all where its repositories are."""
    several = suite.metadata.get("repositories")
    return isinstance(suite.metadata.get("repository"), str) or (isinstance(several, Mapping) and bool(several))


def mined_repository(suite: Suite, base: Path | None) -> dict[str | None, Path]:
    """The one folder for all cases, if the gold set names one."""
    claim = suite.metadata.get("repository")
    return {None: _check_claim(claim, base, suite.cases, "PATH")} if isinstance(claim, str) else {}


def _is_from(case: Case, name: object, *, single: bool) -> bool:
    own = case.fields.get("repository")
    return own == name if isinstance(own, str) else single


def _check_claim(claim: object, base: Path | None, cases: Sequence[Case], form: str) -> Path:
    places = list(_possible_folders(claim, base)) if isinstance(claim, str) else []
    folder = next((place for place in places if _holds_commits(place, cases)), None)
    if folder is None and is_address(claim):
        excerpt = shortened(str(claim), _LONGEST_ADDRESS)
        why = "nothing is fetched that only a file names"
        raise UsageError(f"the gold set names {excerpt!r}, and {why}; name it with --repo {form}")
    if folder is None:
        excerpt = shortened(repr(claim), _LONGEST_PATH)
        shallow = f"; it is a shallow clone: {CLONE_ALL}" if any(map(_is_shallow, places)) else ""
        raise UsageError(
            f"the gold set names {excerpt}, which is not a Git repository with the commits of its cases; "
            f"name it with --repo {form}{shallow}"
        )
    return folder


def _is_shallow(folder: Path) -> bool:
    try:
        with open_repository(folder) as repository:
            return bool(repository.shallow)
    except UsageError:
        return False


def _possible_folders(path: str, base: Path | None) -> Iterator[Path]:
    """A folder as it is named, then from the folder that the gold set lies in, then the repository that this one is in.

    The last is where a gold set is that was committed: the path on the machine that mined it means nothing in other clones.
    """
    candidates = [Path(path), *([] if base is None else [base / path])]
    yield from (place for place in candidates if os.path.isdir(place))  # noqa: PTH112  # False for what can be no path
    if base is not None:
        around = base.absolute()
        yield from islice((parent for parent in (around, *around.parents) if os.path.lexists(parent / ".git")), 1)


def _holds_commits(folder: Path, cases: Sequence[Case]) -> bool:
    commits = {_commit_of(case) for case in cases}
    if not commits or None in commits:
        return False
    try:
        with open_repository(folder) as repository:
            return not repository.missing(f"{commit}^{{commit}}" for commit in commits)
    except UsageError:
        return False


def _commit_of(case: Case) -> str | None:
    """The commit that a case is about, or that precedes it; None if it names none."""
    commit = case.fields.get("parent_commit") or case.fields.get("commit_hash") or case.origin
    return commit if isinstance(commit, str) and _HASH.fullmatch(commit) else None


# The repositories that somebody has named, as folders of this machine, and which of them a case is from.


def given_repositories(texts: Sequence[str], config_source: str | None) -> list[RepositorySource]:
    """Those that were given, or else the one of a config, which has no name."""
    if texts or config_source is None:
        return [parse_repository(text) for text in texts]
    return [parse_repository(config_source) if is_address(config_source) else RepositorySource(config_source)]


def refuse_addresses(sources: Sequence[RepositorySource]) -> None:
    """What lies elsewhere has a history, and no files that could be searched as they lie there."""
    remote = next((source for source in sources if source.address is not None), None)
    if remote is not None:
        raise UsageError(f"{remote.reference} has no work tree to search; name a state of it: --snapshot head is the commit itself")


def folders_by_name(sources: Sequence[RepositorySource], *, network: bool) -> dict[str | None, Path]:
    """Folders by the names that were given to them, one at most without a name."""
    twice = next((name for name, count in Counter(source.name for source in sources).items() if count > 1), "")
    if twice != "":
        which = "two repositories have no name" if twice is None else f"duplicate repository name {twice!r}"
        raise UsageError(f"{which}; give each a name of its own: --repo NAME=PATH")
    return {source.name: Path(clone_source(source, network=network).path) for source in sources}


def repository_folder(case: Case, folders: Mapping[str | None, Path]) -> Path:
    """The folder of the repository that a case is from."""
    name = case.fields.get("repository")
    path = folders.get(name if isinstance(name, str) else None) or folders.get(None)
    if path is None and name is None and len(folders) == 1:
        path = next(iter(folders.values()))
    if path is None:
        names = ", ".join(repr(each) for each in folders if each is not None)
        wrong = f", not {names}" if names else ""
        raise UsageError(f"the case {case.id!r} is from repository {name!r}{wrong}; give its location with --repo {name}=PATH")
    return path.resolve()


# What the commit of a mined case changed, to be read beside its query.

LONGEST_DIFF = 2_000  # lines that are shown

_LONGEST_LINE = 10_000  # bytes of it that are read at a time


@dataclass(frozen=True)
class CaseDiff:
    """A diff from the parent of a case to its commit: its first lines, and whether there are more."""

    parent: str
    commit: str
    lines: tuple[str, ...]
    cut: bool


def diff_of_case(suite: Suite, case: Case, repositories: Sequence[str], base: Path) -> CaseDiff:
    """The diff of a mined case. ``repositories`` are those of --repo; else the gold set, which lies in ``base``, says where."""
    parent, commit = (case.fields.get(name) for name in ("parent_commit", "commit_hash"))
    if not all(isinstance(name, str) and FULL_HASH.fullmatch(name) for name in (parent, commit)):
        raise UsageError(f"the case {quote_name(case.id)} names no commit and parent, so there is nothing to compare")
    sources = [clone_source(parse_repository(text), network=network_allowed()) for text in repositories]
    given_folders = {source.name: Path(source.path) for source in sources}
    folders = {**mined_repositories(suite, base, given_folders), **given_folders}
    own = case.fields.get("repository")
    folder = folders.get(own if isinstance(own, str) else None) or folders.get(None)
    if folder is None:
        raise UsageError(f"the repository of {quote_name(case.id)} is not known; name it with --repo PATH")
    with open_repository(folder) as repository:
        missing = repository.missing(f"{name}^{{commit}}" for name in (parent, commit))
        if missing:
            raise repository.lacks_commit(min(missing).removesuffix("^{commit}"))
        flags = ("--no-color", "--no-ext-diff", "--no-textconv", "--no-renames", "--stat=100", "-p")
        with repository.stream("diff", *flags, str(parent), str(commit)) as output:
            lines = _first(iter(lambda: output.readline(_LONGEST_LINE), b""))
    return CaseDiff(str(parent), str(commit), lines[:LONGEST_DIFF], len(lines) > LONGEST_DIFF)


def _first(rows: Iterable[bytes]) -> tuple[str, ...]:
    """As many lines as are shown, and one more if there are more."""
    lines = []
    for row in rows:
        lines.append(row.decode("utf-8", "replace").rstrip("\r\n").expandtabs(4))
        if len(lines) > LONGEST_DIFF:
            break
    return tuple(lines)
