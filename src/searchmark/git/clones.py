"""Repositories as people name them, [NAME=]PATH or URL@COMMIT: parsed, cloned, fetched."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from os import PathLike, fspath
from pathlib import Path
from urllib.parse import unquote, urlsplit

from searchmark.errors import UsageError, shortened
from searchmark.git.process import ask_git, run_to_end, sealed_environment, silence_limit
from searchmark.git.repository import FETCH_ALL, Repository, open_repository
from searchmark.io.folders import blame_temporary_folder, cache_folder, exclusive, make_once, private_folder
from searchmark.io.network import NO_NETWORK
from searchmark.io.paths import is_address
from searchmark.io.secrets import without_credentials
from searchmark.io.store import atomic_write

# Repositories that lie elsewhere: ``URL@COMMIT``, where the commit is a full hash, so that a run names what it searched.

REPOSITORY_SCHEMES = ("https", "ssh", "file")

ADDRESS_FORM = "URL@COMMIT, as https://host/project.git@ and the 40 digits of a full commit"

_COMMIT = re.compile(r"[0-9a-f]{40}")

_LONGEST = 2000  # characters

_SHOWN = 120

_SSH_USER = re.compile(r"(?i)(ssh://)[^/@:\s]+@")  # a name without a password is no secret

_SCP = re.compile(r"(?:[^=/\\]*=)?([\w.-]+@[\w.-]+):(?!/?/)([^\s]+)")


@dataclass(frozen=True)
class RepositoryAddress:
    """Where a repository is, and at which commit: plain data, which any machine can make a clone from."""

    url: str
    commit: str

    def __post_init__(self) -> None:
        _refuse_credentials(self.url)
        _refuse_other_schemes(self.url)
        if _COMMIT.fullmatch(self.commit) is None:
            excerpt = shortened(repr(self.commit), _SHOWN)
            raise UsageError(
                f"{self.url}: {excerpt} is not a full commit, and a run must name what it searched; give all its 40 digits "
                "(git rev-parse says them), as URL@COMMIT"
            )

    def __str__(self) -> str:
        return f"{self.url}@{self.commit}"

    @property
    def name(self) -> str:
        """What the repository is called: the last part of the path, as of a clone."""
        last = unquote(urlsplit(self.url).path).rstrip("/").rpartition("/")[2].removesuffix(".git")
        return last if last.isprintable() and last.strip(". ") else "repository"


def parse_address(text: str) -> RepositoryAddress:
    """``URL@COMMIT``."""
    _refuse_credentials(text)
    _refuse_other_schemes(text)
    url, _, commit = text.rpartition("@")
    if not url or "/" in commit:  # the sign belongs to ssh://git@host, or there is none
        raise UsageError(f"{shortened(text, _SHOWN)} names no commit, and a run must name what it searched; write {ADDRESS_FORM}")
    return RepositoryAddress(url, commit.lower())


def refuse_scp_form(text: str) -> None:
    """Refuse ``git@host:project``, which is an address that looks like a path."""
    match = _SCP.fullmatch(text)
    if match is not None:
        raise UsageError(f"{shortened(text, _SHOWN)!r} is not a repository; write ssh://{match[1]}/{shortened(match[2], _SHOWN)}")


def _refuse_credentials(text: str) -> None:
    """No sentence about such an address may show it."""
    bare = _SSH_USER.sub(r"\1", text)
    if without_credentials(bare) != bare:
        raise UsageError(
            "the address of a repository holds a user, a password or a token, which would end up in files; leave that out: a "
            "public one needs none, and for others ssh:// uses your keys"
        )


def _refuse_other_schemes(url: str) -> None:
    excerpt = shortened(repr(url), _SHOWN)
    try:
        parts = urlsplit(url)
        host = parts.hostname or ""
    except ValueError:  # brackets that do not close
        raise UsageError(f"{excerpt} is not the address of a repository; write {ADDRESS_FORM}") from None
    if parts.scheme not in REPOSITORY_SCHEMES:
        raise UsageError(
            f"{excerpt}: a repository is fetched by {', '.join(REPOSITORY_SCHEMES[:-1])} or {REPOSITORY_SCHEMES[-1]}, "
            f"not {parts.scheme}"
        )
    here = host in ("", "localhost")
    whole = bool(parts.path.strip("/")) and (here if parts.scheme == "file" else bool(host))
    if not whole or not url.isprintable() or len(url) > _LONGEST:
        raise UsageError(f"{excerpt} is not the address of a repository; write {ADDRESS_FORM}")


# Git that may reach other repositories: the only one here that uses the network.
#
# A repository may be a stranger's, and its config names programs that a fetch would run. Each of them is replaced, and of the
# ways to reach another repository only those are left that run nothing here but git and ssh.

FETCH_SECONDS = 3600.0


# What well-known histories have from the first years of git: odd, and read all the same.
_FORGIVEN_ODDITIES = ("badTimezone", "missingSpaceBeforeDate", "zeroPaddedFilemode")


_SAFE = (
    "-c", "safe.directory=*", "-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null", "-c", "core.sshCommand=ssh",
    "-c", "core.askPass=true", "-c", "core.alternateRefsCommand=true", "-c", "credential.helper=", "-c", "gc.auto=0",
    "-c", "maintenance.auto=false", "-c", "transfer.fsckObjects=true", "-c", "protocol.allow=never",
    *(part for name in REPOSITORY_SCHEMES for part in ("-c", f"protocol.{name}.allow=always")),
    *(part for name in _FORGIVEN_ODDITIES for key in ("fetch.fsck", "fsck") for part in ("-c", f"{key}.{name}=ignore")),
    "--no-pager",
)  # fmt: skip

_FETCH = ("fetch", "--quiet", "--no-recurse-submodules", "--upload-pack=git-upload-pack")


def run_network_git(folder: str | PathLike[str], *arguments: str, title: str) -> str | None:
    """Run git in a folder, with leave to reach other repositories. None if it went well, or else what it said.

    ``title`` is what an error calls it.
    """
    environment = sealed_environment(GIT_ALLOW_PROTOCOL=":".join(REPOSITORY_SCHEMES), GIT_ASKPASS="true", SSH_ASKPASS="true")
    command = ["git", "-C", fspath(folder), *_SAFE, *arguments]
    result = run_to_end(command, environment, title, silence_limit(FETCH_SECONDS))
    message = " ".join(result.stderr.decode("utf-8", "replace").split())
    return (shortened(message, 300) or f"exit code {result.returncode}") if result.returncode else None


def fetch(folder: str | PathLike[str], *arguments: str, title: str, settings: Sequence[str] = ()) -> str | None:
    """Fetch into the repository of a folder; None if it went well, or else what git said."""
    return run_network_git(folder, *settings, *_FETCH, *arguments, title=f"{title}: git fetch")


def fetch_full_history(path: str) -> bool:
    """Fetch the rest of a repository if it is a shallow clone, and say whether it was one."""
    if not _is_shallow(path):
        return False
    message = fetch(path, "--unshallow", title=path)
    if message is not None or _is_shallow(path):  # without a remote git fetches nothing and is content
        why = message or "git has nowhere to fetch it from; check its remote with git remote -v"
        raise UsageError(f"{path}: the rest of this shallow clone cannot be fetched: {why}")
    return True


def _is_shallow(path: str) -> bool:
    with open_repository(path) as repository:
        return bool(repository.shallow)


# Repositories that are sent to other machines: a bundle is one file with all that leads to some commits, and its digest.

_BUNDLE_READ_SIZE = 1 << 20

_FORMATS = {40: "sha1", 64: "sha256"}  # by how many digits a commit has

_REFERENCE = re.compile(rb"([0-9a-f]+) refs/")


def make_bundle(repository: Path, commits: Iterable[str], file: Path) -> str:
    """Write all that these commits need, whether a branch leads to them or not, and say the file's SHA-256 digest.

    Nothing is written to the repository: the names that a bundle needs are given in a git directory that borrows its objects.
    """
    with open_repository(repository) as source:
        names = _known(source, sorted(set(commits)))
        source.run("config", "pack.threads", "1")  # the same bytes every time; written to the borrowing directory, as is this:
        source.run("update-ref", "--stdin", input="".join(f"create refs/commits/{name} {name}\n" for name in names).encode())
        digest = hashlib.sha256()
        with atomic_write(file) as target, source.stream("bundle", "create", "--quiet", "-", "--all") as output:
            while piece := output.read(_BUNDLE_READ_SIZE):
                digest.update(piece)
                target.write(piece)
    return digest.hexdigest()


def _known(repository: Repository, commits: list[str]) -> list[str]:
    if not commits:
        raise UsageError(f"{repository.path}: there is no commit to bundle")
    if repository.shallow:
        raise UsageError(f"{repository.path} is a shallow clone, and cannot be sent elsewhere; {FETCH_ALL}")
    missing = repository.missing(f"{name}^{{commit}}" for name in commits)
    if missing:
        raise repository.lacks_commit(min(missing).removesuffix("^{commit}"))
    return commits


def unpack_bundle(content: bytes, folder: Path, name: str) -> None:
    """Make the repository of a bundle of this name; one that is damaged is refused."""
    title, first = f"the bundle {name}", _REFERENCE.search(content[:_BUNDLE_READ_SIZE])
    kind = _FORMATS.get(len(first[1]) if first else 0, "sha1")
    folder.mkdir()
    with private_folder() as own:
        file = own / "bundle"
        with blame_temporary_folder():
            file.write_bytes(content)
        message = (
            run_network_git(folder, "init", "--quiet", "--bare", "--template=", f"--object-format={kind}", ".", title=title)
            or fetch(folder, "--no-tags", "--no-write-fetch-head", str(file), "refs/*:refs/*", title=title)
            or run_network_git(folder, "fsck", "--strict", "--no-dangling", "--no-progress", title=f"{title}: git fsck")
        )
    if message is not None:
        raise UsageError(f"{title} cannot be unpacked; make it again: {message}")


# Which repositories are meant, as people write it: ``[NAME=]PATH`` or ``[NAME=]URL@COMMIT``.


@dataclass(frozen=True)
class RepositorySource:
    """A repository and what it is called; without a name of its own it is called like its folder.

    One that lies elsewhere has an ``address``, and becomes a folder where it is needed (`clone_source`): until then its
    ``path`` is the address itself.
    """

    path: str
    name: str | None = None
    address: RepositoryAddress | None = None

    @property
    def label(self) -> str:
        """What its cases call it."""
        if self.name is not None:
            return self.name
        if self.address is not None:
            return self.address.name
        folder = Path(self.path).resolve()
        own = folder.parent.name if folder.name == ".git" else folder.name.removesuffix(".git")
        return own or "repository"

    @property
    def reference(self) -> str:
        """Where it is, as files say it: the same on every machine if it is an address."""
        return self.path if self.address is None else str(self.address)


def parse_repository(text: str) -> RepositorySource:
    """``PATH`` or ``NAME=PATH``: a name ends at the first ``=`` and may hold slashes, as in ``org/project=../project``.

    A folder that is there wins, so a path with such a sign in it needs no name. In place of the path may be ``URL@COMMIT``.
    """
    name, sign, path = text.partition("=")
    if is_address(text):
        return _remote_source(text)
    if text and (not sign or Path(text).is_dir()):
        return _local_source(text)
    if not name or not path:
        raise UsageError(f"{text!r} is not a repository; write PATH or NAME=PATH")
    return _remote_source(path, name) if is_address(path) else _local_source(path, name)


def _local_source(path: str, name: str | None = None) -> RepositorySource:
    if not Path(path).is_dir():
        refuse_scp_form(path)
    return RepositorySource(path, name)


def _remote_source(text: str, name: str | None = None) -> RepositorySource:
    address = parse_address(text)
    return RepositorySource(str(address), name, address)


def parse_repositories(repositories: Sequence[RepositorySource | str]) -> list[RepositorySource]:
    """Several repositories, which must be called differently."""
    sources = [parse_repository(one) if isinstance(one, str) else one for one in repositories]
    twice = [label for label, count in Counter(source.label for source in sources).items() if count > 1]
    if twice:
        raise UsageError(f"duplicate repository name {twice[0]!r}; rename one with NAME=PATH")
    return sources


# Repositories by address: cloned once on every machine, into the cache, and seen there at the commit that was named.
#
# A clone holds all branches and tags. For every commit that was asked for there is a git directory beside it that borrows the
# objects of the clone, and whose HEAD is that commit, whatever the branches of the clone are at.

_BRANCHES = ("+refs/heads/*:refs/heads/*", "+refs/tags/*:refs/tags/*")

_NO_EXTRAS = ("--no-tags", "--no-write-fetch-head")

_CONFIG = "[core]\n\trepositoryformatversion = 0\n\tbare = true\n"


def clone_source(source: RepositorySource, *, network: bool) -> RepositorySource:
    """The same repository as a folder of this machine."""
    address = source.address
    if address is None:
        return source
    return replace(source, path=str(repository_at(address.url, address.commit, network=network)))


def repository_at(url: str, commit: str, *, network: bool) -> Path:
    """A git directory of this machine with the whole history of a repository, whose HEAD is the commit.

    It is fetched if it is not there yet, or lacks the commit; without ``network`` that is an error.
    """
    address = RepositoryAddress(url, commit)
    place = _clone_folder(address)
    clone, view = place / "clone", place / "at" / commit
    if not _is_view(view, address):
        _ensure_commit(clone, address, network=network)
        make_once(view, lambda folder: _write_view(folder, address), lambda folder: _is_view(folder, address))
    return view / address.name


def is_cloned(address: RepositoryAddress) -> bool:
    """Whether a repository was cloned already and has the commit."""
    place = _clone_folder(address)
    return _is_view(place / "at" / address.commit, address) or _has_commit(place / "clone", address.commit)


def _clone_folder(address: RepositoryAddress) -> Path:
    return (cache_folder() / "clones" / hashlib.sha256(address.url.encode()).hexdigest()[:32]).absolute()


def _ensure_commit(clone: Path, address: RepositoryAddress, *, network: bool) -> None:
    """The clone with the commit."""
    if _has_commit(clone, address.commit):
        return
    if not network:
        what = "has no clone here" if not clone.exists() else f"has a clone here without the commit {address.commit}"
        raise UsageError(f"{address.url} {what}, and {NO_NETWORK}; run it once without them")
    make_once(clone, lambda folder: _clone(folder, address))
    with exclusive(clone):
        _fetch_commit(clone, address)


def _clone(folder: Path, address: RepositoryAddress) -> None:
    folder.mkdir()
    message = run_network_git(folder, "init", "--quiet", "--bare", "--template=", ".", title=f"{address.url}: git init")
    _refuse_failure(address, message or _fetch(folder, address, *_BRANCHES))


def _fetch_commit(clone: Path, address: RepositoryAddress) -> None:
    """From the branches, or by its name alone, which most servers allow."""
    if not _has_commit(clone, address.commit):
        _refuse_failure(address, _fetch(clone, address, *_BRANCHES))
    if not _has_commit(clone, address.commit):
        message = _fetch(clone, address, f"{address.commit}:refs/commits/{address.commit}")
        if message is not None:
            raise UsageError(f"{address.url} does not give the commit {address.commit}; check both: {message}")


def _fetch(clone: Path, address: RepositoryAddress, *references: str) -> str | None:
    asks_nothing = ("-c", "core.sshCommand=ssh -oBatchMode=yes")
    return fetch(clone, *_NO_EXTRAS, address.url, *references, title=address.url, settings=asks_nothing)


def _refuse_failure(address: RepositoryAddress, message: str | None) -> None:
    if message is not None:
        raise UsageError(f"{address.url} cannot be cloned; check the address and that you may read it: {message}")


def _has_commit(clone: Path, commit: str) -> bool:
    there = clone.is_dir()
    return there and ask_git(clone, f"--git-dir={clone}", "cat-file", "-e", f"{commit}^{{commit}}").returncode == 0


def _write_view(folder: Path, address: RepositoryAddress) -> None:
    """As plain files, which is all that a git directory is."""
    view = folder / address.name
    (view / "refs").mkdir(parents=True)
    (view / "objects" / "info").mkdir(parents=True)
    (view / "objects" / "info" / "alternates").write_text("../../../../clone/objects\n")  # so that the cache can be moved
    (view / "config").write_text(_CONFIG)
    (view / "HEAD").write_text(f"{address.commit}\n")


def _is_view(folder: Path, address: RepositoryAddress) -> bool:
    """Whether it is there and nobody has made it mean another commit."""
    try:
        return (folder / address.name / "HEAD").read_text() == f"{address.commit}\n"
    except (OSError, ValueError):
        return False
