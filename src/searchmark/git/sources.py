"""Where a gold set says that its repositories are. That is a claim of whoever wrote the file, so it is checked.

A path is used only if it is that of a Git repository that holds the commits of the cases: a gold set cannot make us read
what it does not know already.
"""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path

from searchmark.errors import UsageError, shortened
from searchmark.history.repository import CLONE_ALL
from searchmark.options.addresses import is_address
from searchmark.records import Case, Suite

_HASH = re.compile(r"[0-9a-f]{4,64}")  # whole or shortened; anything else might be a revision that every repository has
_LONGEST_PATH = 100
_LONGEST_ADDRESS = 300


def mined_repositories(suite: Suite, base: Path | None, given: Collection[str | None]) -> dict[str | None, Path]:
    """Folders by the name that cases have for them, apart from those that were ``given``; one without a name is meant for all."""
    claimed = suite.metadata.get("repositories")
    if not isinstance(claimed, Mapping) or None in given:
        return {}
    found: dict[str | None, Path] = {}
    for name, entry in claimed.items():
        cases = [case for case in suite.cases if _is_of(case, name, single=len(claimed) == 1)]
        if name not in given and cases and isinstance(entry, Mapping) and "path" in entry:
            found[name] = _checked(entry["path"], base, cases, f"{name}=PATH{_wrong_names(given, claimed)}")
    return found


def _wrong_names(given: Collection[str | None], claimed: Mapping[object, object]) -> str:
    """Names that were given and that no case has, beside those that there are."""
    strange = ", ".join(repr(shortened(str(each), _LONGEST_PATH)) for each in given if each not in claimed)
    return f" (--repo names {strange}; this gold set has {', '.join(repr(each) for each in claimed)})" if strange else ""


def claims_repositories(suite: Suite) -> bool:
    """Whether a gold set says at all where its repositories are."""
    several = suite.metadata.get("repositories")
    return isinstance(suite.metadata.get("repository"), str) or (isinstance(several, Mapping) and bool(several))


def mined_repository(suite: Suite, base: Path | None) -> dict[str | None, Path]:
    """The one folder for all cases, if the gold set names one."""
    claimed = suite.metadata.get("repository")
    return {None: _checked(claimed, base, suite.cases, "PATH")} if isinstance(claimed, str) else {}


def _is_of(case: Case, name: object, *, single: bool) -> bool:
    own = case.fields.get("repository")
    return own == name if isinstance(own, str) else single


def _checked(claimed: object, base: Path | None, cases: Sequence[Case], wanted: str) -> Path:
    places = list(_places(claimed, base)) if isinstance(claimed, str) else []
    found = next((place for place in places if _holds_commits(place, cases)), None)
    if found is None and is_address(claimed):
        shown = shortened(str(claimed), _LONGEST_ADDRESS)
        why = "nothing is fetched that only a file names"
        raise UsageError(f"the gold set names {shown!r}, and {why}; name it with --repo {wanted}")
    if found is None:
        shown = shortened(repr(claimed), _LONGEST_PATH)
        shallow = f"; it is a shallow clone: {CLONE_ALL}" if any(map(_is_shallow, places)) else ""
        raise UsageError(
            f"the gold set names {shown}, which is not a Git repository with the commits of its cases; "
            f"name it with --repo {wanted}{shallow}"
        )
    return found


def _is_shallow(folder: Path) -> bool:
    from searchmark.history.repository import open_repository

    try:
        with open_repository(folder) as repository:
            return bool(repository.shallow)
    except UsageError:
        return False


def _places(path: str, base: Path | None) -> Iterator[Path]:
    """A folder as it is named, then from the folder that the gold set lies in, then the repository that this one is in.

    The last is where a gold set is that was committed: the path of whoever mined it means nothing in other clones.
    """
    named = [Path(path), *([] if base is None else [base / path])]
    yield from (place for place in named if os.path.isdir(place))  # noqa: PTH112  # False for what can be no path
    if base is not None:
        around = base.absolute()
        yield from islice((parent for parent in (around, *around.parents) if os.path.lexists(parent / ".git")), 1)


def _holds_commits(folder: Path, cases: Sequence[Case]) -> bool:
    from searchmark.history.repository import open_repository

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
    named = case.fields.get("parent_commit") or case.fields.get("commit_hash") or case.origin
    return named if isinstance(named, str) and _HASH.fullmatch(named) else None
