"""Fetch what a shallow clone lacks, from where it was cloned. The one thing here that uses the network or writes to a repository.

A repository may be a stranger's, and its config names programs that a fetch would run. Each of them is replaced, and of the
ways to reach another repository only those are left that run nothing here but git and ssh.
"""

from __future__ import annotations

from searchmark.errors import UsageError, shortened
from searchmark.history.git import finished, patience, sealed_environment
from searchmark.history.repository import open_repository

FETCH_SECONDS = 3600.0
_PROTOCOLS = ("https", "ssh", "file")
_SAFE = (
    "-c", "safe.directory=*", "-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null", "-c", "core.sshCommand=ssh",
    "-c", "core.askPass=true", "-c", "core.alternateRefsCommand=true", "-c", "credential.helper=", "-c", "gc.auto=0",
    "-c", "maintenance.auto=false", "-c", "transfer.fsckObjects=true", "-c", "protocol.allow=never",
    *(part for name in _PROTOCOLS for part in ("-c", f"protocol.{name}.allow=always")),
    "--no-pager",
)  # fmt: skip
_FETCH = ("fetch", "--quiet", "--unshallow", "--no-recurse-submodules", "--upload-pack=git-upload-pack")


def complete(path: str) -> bool:
    """Fetch the rest of a repository if it is a shallow clone, and say whether it was one."""
    if not _is_shallow(path):
        return False
    environment = sealed_environment(GIT_ALLOW_PROTOCOL=":".join(_PROTOCOLS), GIT_ASKPASS="true", SSH_ASKPASS="true")
    done = finished(["git", "-C", path, *_SAFE, *_FETCH], environment, f"{path}: git fetch", patience(FETCH_SECONDS))
    said = " ".join(done.stderr.decode("utf-8", "replace").split())
    if done.returncode or _is_shallow(path):  # without a remote git fetches nothing and is content
        why = shortened(said, 300) or "git has nowhere to fetch it from; check its remote with git remote -v"
        raise UsageError(f"{path}: the rest of this shallow clone cannot be fetched: {why}")
    return True


def _is_shallow(path: str) -> bool:
    with open_repository(path) as repository:
        return bool(repository.shallow)
