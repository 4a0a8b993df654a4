"""Git that may reach other repositories: the only one here that uses the network.

A repository may be a stranger's, and its config names programs that a fetch would run. Each of them is replaced, and of the
ways to reach another repository only those are left that run nothing here but git and ssh.
"""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike, fspath

from searchmark.errors import UsageError, shortened
from searchmark.history.addresses import SCHEMES
from searchmark.history.git import finished, patience, sealed_environment
from searchmark.history.repository import open_repository

FETCH_SECONDS = 3600.0
# What well-known histories have from the first years of git: odd, and read all the same.
_FORGIVEN = ("badTimezone", "missingSpaceBeforeDate", "zeroPaddedFilemode")
_SAFE = (
    "-c", "safe.directory=*", "-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null", "-c", "core.sshCommand=ssh",
    "-c", "core.askPass=true", "-c", "core.alternateRefsCommand=true", "-c", "credential.helper=", "-c", "gc.auto=0",
    "-c", "maintenance.auto=false", "-c", "transfer.fsckObjects=true", "-c", "protocol.allow=never",
    *(part for name in SCHEMES for part in ("-c", f"protocol.{name}.allow=always")),
    *(part for name in _FORGIVEN for key in ("fetch.fsck", "fsck") for part in ("-c", f"{key}.{name}=ignore")),
    "--no-pager",
)  # fmt: skip
_FETCH = ("fetch", "--quiet", "--no-recurse-submodules", "--upload-pack=git-upload-pack")


def reach(folder: str | PathLike[str], *arguments: str, called: str) -> str | None:
    """Run git in a folder, with leave to reach other repositories. None if it went well, or else what it said.

    ``called`` is what an error calls it.
    """
    environment = sealed_environment(GIT_ALLOW_PROTOCOL=":".join(SCHEMES), GIT_ASKPASS="true", SSH_ASKPASS="true")
    command = ["git", "-C", fspath(folder), *_SAFE, *arguments]
    done = finished(command, environment, called, patience(FETCH_SECONDS))
    said = " ".join(done.stderr.decode("utf-8", "replace").split())
    return (shortened(said, 300) or f"exit code {done.returncode}") if done.returncode else None


def fetch(folder: str | PathLike[str], *arguments: str, called: str, settings: Sequence[str] = ()) -> str | None:
    """Fetch into the repository of a folder; None if it went well, or else what git said."""
    return reach(folder, *settings, *_FETCH, *arguments, called=f"{called}: git fetch")


def complete(path: str) -> bool:
    """Fetch the rest of a repository if it is a shallow clone, and say whether it was one."""
    if not _is_shallow(path):
        return False
    said = fetch(path, "--unshallow", called=path)
    if said is not None or _is_shallow(path):  # without a remote git fetches nothing and is content
        why = said or "git has nowhere to fetch it from; check its remote with git remote -v"
        raise UsageError(f"{path}: the rest of this shallow clone cannot be fetched: {why}")
    return True


def _is_shallow(path: str) -> bool:
    with open_repository(path) as repository:
        return bool(repository.shallow)
