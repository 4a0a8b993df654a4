"""What Git leaves out of a work tree: the rules of its ``.gitignore`` files, told by Git itself."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from searchmark.errors import UsageError, shortened
from searchmark.history.git import ask
from searchmark.history.repository import path_text

LONGEST = 120
_ITSELF = "./"  # what git says of a folder with nothing but ignored files, each of which it names as well
# The rules of the work tree alone: those of a user would make another corpus of the same files.
_OWN_RULES = ("-c", "core.excludesFile=/dev/null")
_IGNORED = ("ls-files", "--others", "--ignored", "--exclude-standard", "--directory", "-z")


@dataclass(frozen=True)
class IgnoredPaths:
    """Paths below a folder, those of folders with a slash at the end; ``problem`` is why Git could not be asked.

    ``silent``: it is missing, or was waited for as long as anything is; asking again would take as long again.
    """

    paths: tuple[str, ...] = ()
    problem: str | None = None
    silent: bool = False


def ignored_below(folder: Path) -> IgnoredPaths:
    """What Git ignores below a folder; nothing outside of a work tree, and of a folder that is ignored as a whole.

    Who names such a folder wants it searched.
    """
    if not any((each / ".git").exists() for each in (folder, *folder.parents)):
        return IgnoredPaths()
    try:
        if not (folder / ".git").exists() and ask(folder, *_OWN_RULES, "check-ignore", "--quiet", ".").returncode == 0:
            return IgnoredPaths()
        answer = ask(folder, *_OWN_RULES, *_IGNORED)
    except (UsageError, OSError) as error:
        return IgnoredPaths(problem=str(error), silent=True)
    if answer.returncode:
        said = path_text(answer.stderr).strip().partition("\n")[0]
        return IgnoredPaths(problem=f"git cannot tell what it ignores in {folder.name}: {shortened(said, LONGEST)}")
    return IgnoredPaths(tuple(path for path in path_text(answer.stdout).split("\0") if path and path != _ITSELF))


def committed_paths(folder: Path, commit: str) -> list[str]:
    """The paths of all files of a commit; none where Git cannot say."""
    try:
        answer = ask(folder, "ls-tree", "-r", "-z", "--name-only", "--full-tree", commit)
    except (UsageError, OSError):
        return []
    return [path for path in path_text(answer.stdout).split("\0") if path] if answer.returncode == 0 else []


def is_tracked(folder: Path, path: str) -> bool:
    """Whether Git has a file of this work tree under version control; False where it cannot say."""
    try:
        answer = ask(folder, "--literal-pathspecs", "ls-files", "-z", "--", path)
    except (UsageError, OSError):
        return False
    return answer.returncode == 0 and bool(answer.stdout)
