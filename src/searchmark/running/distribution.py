"""What all machines of an executor must have, and how each gets it: repositories, files, wheels, the same Searchmark."""

from __future__ import annotations

import hashlib
import re
import socket
import zipfile
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from io import BytesIO
from pathlib import Path, PurePosixPath
from typing import Any, Literal

from searchmark.errors import SearchmarkError, UsageError
from searchmark.executors.pool import TaskLacks, TaskPool
from searchmark.formats.corpora.corpus import download_corpus
from searchmark.formats.corpora.locations import Commit, Folder, Location
from searchmark.git.clones import RepositoryAddress, make_bundle, repository_at, unpack_bundle
from searchmark.git.repository import open_repository
from searchmark.io.folders import cache_folder, make_once
from searchmark.records.sentences import list_first

# Wheels: code that travels as one file, unpacked once on every machine; nothing of it is run for that.

LARGEST_WHEEL = 1 << 30  # bytes, unpacked


def read_wheel(path: Path) -> bytes:
    """The content of a wheel, as far as can be told without unpacking it."""
    try:
        content = path.read_bytes()
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}") from error
    if path.suffix != ".whl" or not zipfile.is_zipfile(BytesIO(content)):
        raise UsageError(f"{path} is not a wheel; make one of a package: pip wheel --no-deps FOLDER")
    return content


def unpack_wheel(content: bytes, folder: Path) -> None:
    """All modules. What an installer would put elsewhere (scripts, headers) stays out, and nothing leads out of the folder."""
    try:
        with zipfile.ZipFile(BytesIO(content)) as archive:
            entries = archive.infolist()
            if sum(entry.file_size for entry in entries) > LARGEST_WHEEL:
                raise UsageError(f"a wheel is larger than {LARGEST_WHEEL >> 20} MB when it is unpacked, and is not taken")
            folder.mkdir(parents=True)
            for entry in entries:
                parts = PurePosixPath(entry.filename).parts
                if not entry.is_dir() and parts and ".." not in parts and not parts[0].endswith(".data"):
                    archive.extract(entry, folder)
    except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError) as error:
        raise UsageError(f"a wheel cannot be unpacked: {error}") from error


# A location names a path of the machine that everything was started on. The same files are at the same path everywhere (a
# shared file system), or they have an address that every machine fetches them from once, or they are sent along as a parcel.
# Secrets are no supply: they come from the environment of each machine.


@dataclass(frozen=True)
class Parcel:
    """A file that is sent along, by its digest: a machine that has it already is not sent it again."""

    kind: Literal["bundle", "wheel"]
    name: str
    digest: str
    file: Path  # on the machine that everything was started on

    @classmethod
    def of_bundle(cls, repository: Path, commits: Iterable[str], file: Path) -> Parcel:
        """The commits of a repository, put into a file."""
        return cls("bundle", repository.name, make_bundle(repository, commits, file), file)

    @classmethod
    def of_wheel(cls, file: Path) -> Parcel:
        return cls("wheel", file.name, hashlib.sha256(read_wheel(file)).hexdigest(), file)

    @property
    def _folder(self) -> Path:
        if re.fullmatch("[0-9a-f]{64}", self.digest) is None:
            raise UsageError(f"{self.digest!r} is not a SHA-256 digest, which has 64 digits")
        return (cache_folder() / f"{self.kind}s" / self.digest).absolute()

    def found(self) -> Path | None:
        """What it became on this machine; None if it is not here."""
        return self._folder if self._folder.is_dir() else None

    def unpack(self, content: bytes) -> Path:
        """What it becomes on this machine, made once for all of its processes; what has another digest is refused."""
        return make_once(self._folder, lambda folder: self._unpack(content, folder))

    def _unpack(self, content: bytes, folder: Path) -> None:
        digest = hashlib.sha256(content).hexdigest()
        if digest != self.digest:
            raise UsageError(f"the {self.kind} has the SHA-256 digest {digest}, not {self.digest}; send it again")
        if self.kind == "bundle":
            unpack_bundle(content, folder, digest[:12])
        else:
            unpack_wheel(content, folder)


Address = RepositoryAddress | str | Parcel  # of a clone, of a download, of what is sent along

Contents = tuple[tuple[Parcel, bytes], ...]


@dataclass(frozen=True)
class Supplies:
    """Where else what lies at a path of the starting machine can be found, and code that every machine needs."""

    addresses: Mapping[Path, Address] = field(default_factory=dict)
    wheels: tuple[Parcel, ...] = ()
    network: bool = False

    def with_bundles(self, commits: Mapping[Path, Iterable[str]], folder: Path) -> Supplies:
        """With a bundle, in the ``folder``, of the commits of every repository that has no address of its own."""
        own = [(path, hashes) for path, hashes in commits.items() if path not in self.addresses]
        bundles = {path: Parcel.of_bundle(path, hashes, folder / f"{n}.bundle") for n, (path, hashes) in enumerate(own)}
        return replace(self, addresses={**self.addresses, **bundles})

    @property
    def parcels(self) -> tuple[Parcel, ...]:
        parcels = (address for address in self.addresses.values() if isinstance(address, Parcel))
        return (*dict.fromkeys(parcels), *self.wheels)

    def missing(self) -> tuple[Parcel, ...]:
        """What would have to be sent to this machine."""
        return tuple(parcel for parcel in self.parcels if parcel.found() is None)

    def refuse_missing(self) -> None:
        """End a task that needs something which this machine has not been sent: it comes again with that."""
        if missing := self.missing():
            raise TaskLacks(missing)

    def bring(self, parcels: Iterable[Parcel], work: Callable[..., Any]) -> Callable[..., Any]:
        """The work, and what a machine has said it lacks."""
        return partial(_unpack_and_work, self.contents(parcels), work)

    def contents(self, parcels: Iterable[Parcel]) -> Contents:
        """Parcels of ours with what is in them."""
        return tuple((parcel, parcel.file.read_bytes()) for parcel in set(self.parcels) & set(parcels))

    def unpack_wheels(self) -> tuple[Path, ...]:
        """The folders of `code` on the machine that everything was started on."""
        return tuple(wheel.unpack(wheel.file.read_bytes()) for wheel in self.wheels)

    def code(self) -> tuple[Path, ...]:
        """Folders with modules of agents."""
        return tuple(folder for wheel in self.wheels if (folder := wheel.found()) is not None)

    def here(self, location: Location) -> Location:
        """The same location on this machine; refused with what is lacking where it is not there."""
        if not isinstance(location, Commit | Folder):
            return location
        path = self.path(location.path, shipped=isinstance(location, Commit))
        return location if path == location.path else replace(location, path=path)

    def path(self, path: Path, *, shipped: bool = True) -> Path:
        """Where something is on this machine; ``shipped``: it is of a kind that can be sent along."""
        match self.addresses.get(path):
            case None:
                if not path.exists():
                    ways = "have an address, or be sent along (--ship)" if shipped else "or have an address"
                    raise lacking_error(f"{path}, which must be at the same path everywhere, {ways}")
                return path
            case RepositoryAddress(url, commit):
                return repository_at(url, commit, network=self.network)
            case Parcel() as parcel:
                local_path = parcel.found()
                if local_path is None:
                    raise lacking_error(f"{parcel.name}, which was not sent")
                return local_path
            case address:
                return download_corpus(address, network=self.network)


NO_SUPPLIES = Supplies()


def unpack_parcels(contents: Contents) -> None:
    """Unpack what was sent, once for all processes of this machine."""
    for parcel, content in contents:
        parcel.unpack(content)


def _unpack_and_work(contents: Contents, work: Callable[..., Any], *task: Any) -> Any:
    unpack_parcels(contents)
    return work(*task)


def send_parcels(pool: TaskPool, supplies: Supplies) -> None:
    """Send everything to all machines that are known now and lack it; one that comes later says so with its first task."""
    answers = pool.everywhere(Supplies.missing, supplies) if supplies.parcels else None
    if missing := {parcel for each in answers or () for parcel in each}:
        pool.everywhere(unpack_parcels, supplies.contents(missing))


def commits_in(locations: Iterable[Location]) -> dict[Path, tuple[str, ...]]:
    """The commits of each repository that are searched, by its path."""
    commits: dict[Path, dict[str, None]] = {}
    for location in locations:
        if isinstance(location, Commit):
            commits.setdefault(location.path, {})[location.commit] = None
    return {path: tuple(each) for path, each in commits.items()}


# What a machine lacks, said by the machine itself, and what becomes of it: nothing is begun before all of them have it.

Look = Callable[[], object]  # raises what is wrong; it is sent to every machine

MACHINES_SHOWN = 3  # of many things that are lacking


def check_machines(pool: TaskPool, looks: Iterable[Look], who: str) -> None:
    """Every machine that is known now must have what ``who`` needs; one that comes later says so with its first task."""
    lacks = pool.everywhere(machine_problems, tuple(looks))
    sentences = dict.fromkeys(sentence for each in lacks or () for sentence in each)
    if sentences:
        raise UsageError(f"not all machines of {pool.name} have what {who} needs: {'; '.join(sentences)}")


def machine_problems(looks: Iterable[Look]) -> list[str]:
    """What this machine lacks, a sentence each."""
    host, sentences = socket.gethostname(), []
    for look in looks:
        try:
            look()
        except SearchmarkError as error:
            sentences.append(str(error) if str(error).startswith(host) else f"{host}: {error}")
    return sentences


def lacking_error(what: str) -> UsageError:
    """That this machine lacks something."""
    return UsageError(f"{socket.gethostname()} lacks {what}")


def refuse_missing_repository(supplies: Supplies, path: Path, commits: Iterable[str]) -> None:
    """The repository of this path must be here, with all of these commits."""
    with open_repository(supplies.path(path)) as repository:
        missing = sorted(repository.missing(f"{commit}^{{commit}}" for commit in commits))
    if missing:
        hashes = list_first([each.removesuffix("^{commit}") for each in missing], MACHINES_SHOWN)
        raise lacking_error(f"{len(missing)} commits of {path.name}: {hashes}")
