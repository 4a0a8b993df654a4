"""The repositories of built-in suites: made in the cache, or found around the package."""

from __future__ import annotations

import gzip
import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path

from searchmark.errors import UsageError
from searchmark.git.process import ask_git, sealed_environment
from searchmark.git.repository import open_repository
from searchmark.io.folders import cache_folder

# It holds the answers, so it lies in the folder of the suite, which sandboxed agents do not see, and not in a file of code.
SHOP_STREAM = Path(__file__).parents[1] / "builtin_suites" / "code_history" / "history.fast-import.gz"

SHOP, SHOP_COMMIT = "larder", "6ecd7bb76ad970586fef58bd2e07d08b1220e952"

OWN, OWN_COMMIT = "searchmark", "e6de8e113ce84b049c09084f4a8ef3303fef542a"

_LENGTH = 12  # of a hash in the name of a folder


def shop_repository() -> str:
    """The shop's repository in the user's cache: made on first use, and again if it is not at its last commit."""
    folder = cache_folder().absolute() / "builtin" / f"code-history-{SHOP_COMMIT[:_LENGTH]}" / SHOP
    if _head(folder) != SHOP_COMMIT:
        _make_shop(folder)
    return f"{SHOP}={folder}"


def place_shop(folder: Path) -> None:
    """Make the shop's repository in a folder of the user's. What is there is taken at its last commit only, and never removed."""
    if _head(folder) == SHOP_COMMIT:
        return
    if os.path.lexists(folder):
        raise UsageError(f"{folder} is in the way of the example repository; move it away, or name another folder with -o")
    with tempfile.TemporaryDirectory(prefix="unfinished-", dir=folder.parent) as scratch:
        build_shop(Path(scratch, SHOP)).rename(folder)


def build_shop(folder: Path) -> Path:
    """Make the shop's repository and check its files out, with nobody's settings."""
    folder.mkdir(parents=True, exist_ok=True)
    _git(folder, "init", "--quiet", "--initial-branch=main", "--object-format=sha1", "--template=")
    _git(folder, "fast-import", "--quiet", stream=gzip.decompress(SHOP_STREAM.read_bytes()))
    _git(folder, "reset", "--quiet", "--hard", "main")
    return folder


def own_repository() -> str:
    """The full clone of Searchmark's own repository that the working directory lies in, or else that of the package."""
    shallow = None
    for folder in (Path.cwd(), Path(__file__).parent):
        top = _top(folder)
        if top is None:
            continue
        with open_repository(top) as repository:
            if not repository.missing([f"{OWN_COMMIT}^{{commit}}"]) and not repository.shallow:
                return f"{OWN}={top}"
            shallow = shallow or (top if repository.shallow else None)
    here = "there is none here" if shallow is None else f"{shallow} is a shallow one (git fetch --unshallow gets the rest)"
    raise UsageError(
        f"builtin:own-history is searched in a full clone of Searchmark's repository, and {here}; run it inside of one, "
        f"or name one with --repo {OWN}=PATH"
    )


# By the name of the suite: what makes or finds its repository.
REPOSITORIES: Mapping[str, Callable[[], str]] = {"code-history": shop_repository, "own-history": own_repository}


def repository_of(suite: str) -> str | None:
    """The repository that a built-in suite is about, as NAME=PATH, made or found now; None for one that searches documents."""
    return REPOSITORIES[suite]() if suite in REPOSITORIES else None


def _make_shop(folder: Path) -> None:
    """Made beside its place and put there whole: others may be making it at the same time."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="unfinished-", dir=folder.parent) as scratch:
        shop = build_shop(Path(scratch, SHOP))
        if _head(shop) != SHOP_COMMIT:
            version = ask_git(Path(), "version").stdout.decode("utf-8", "replace").strip()
            raise UsageError(f"git made another history of builtin:code-history than its cases are about ({version})")
        if _head(folder) != SHOP_COMMIT:
            shutil.rmtree(folder, ignore_errors=True)
            with suppress(OSError):  # another process was faster; what is there now is looked at below
                shop.rename(folder)
    if _head(folder) != SHOP_COMMIT:
        raise UsageError(f"{folder} is in the way of the repository of builtin:code-history; remove it")


def _head(folder: Path) -> str | None:
    """The last commit of the repository in this folder, which is not one around it; None if nothing can be said."""
    if not (folder / ".git").is_dir():
        return None
    answer = ask_git(folder, "rev-parse", "--verify", "--quiet", "HEAD")
    return answer.stdout.decode("ascii", "replace").strip() if answer.returncode == 0 else None


def _top(folder: Path) -> Path | None:
    answer = ask_git(folder, "rev-parse", "--show-toplevel")
    return None if answer.returncode else Path(os.fsdecode(answer.stdout.removesuffix(b"\n")))


def _git(folder: Path, *arguments: str, stream: bytes | None = None) -> None:
    try:
        subprocess.run(["git", *arguments], cwd=folder, env=sealed_environment(), input=stream, check=True, capture_output=True)  # noqa: S603, S607  # git itself
    except FileNotFoundError as error:
        raise UsageError("git is not installed, and builtin:code-history is a Git repository; install git") from error
    except subprocess.CalledProcessError as error:
        message = error.stderr.decode("utf-8", "replace").strip()
        raise UsageError(f"git could not make the repository of builtin:code-history: {message}") from error
