"""What is needed on every machine, and how each of them comes by it.

A location names a path of the machine that everything was started on. The same files are at the same path everywhere (a shared file
system), or they have an address that every machine fetches them from once, or they are sent along as a parcel. Secrets are no
supply: they come from the environment of each machine.
"""

from __future__ import annotations

import socket
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal

from searchmark.corpora.downloads import downloaded
from searchmark.corpora.locations import Commit, Folder, Location
from searchmark.errors import UsageError
from searchmark.files.wheels import unpacked_wheel, wheel_folder
from searchmark.history.addresses import RepositoryAddress
from searchmark.history.bundles import known_bundle, repository_from_bundle
from searchmark.history.clones import repository_at


@dataclass(frozen=True)
class Parcel:
    """A file that is sent along, by its digest: a machine that has it already is not sent it again."""

    kind: Literal["bundle", "wheel"]
    name: str
    digest: str

    def found(self) -> Path | None:
        """What it became on this machine; None if it is not here."""
        if self.kind == "bundle":
            return known_bundle(self.digest)
        folder = wheel_folder(self.digest)
        return folder if folder.is_dir() else None

    def unpacked(self, content: bytes) -> Path:
        return (repository_from_bundle if self.kind == "bundle" else unpacked_wheel)(content, self.digest)


Address = RepositoryAddress | str | Parcel  # of a clone, of a download, of what is sent along


@dataclass(frozen=True)
class Supplies:
    """By path on the machine that started everything, where else the same is to be had; and code that every machine needs."""

    addresses: Mapping[Path, Address] = field(default_factory=dict)
    wheels: tuple[Parcel, ...] = ()
    network: bool = False

    @property
    def parcels(self) -> tuple[Parcel, ...]:
        sent = (address for address in self.addresses.values() if isinstance(address, Parcel))
        return (*dict.fromkeys(sent), *self.wheels)

    def missing(self) -> tuple[Parcel, ...]:
        """What would have to be sent to this machine."""
        return tuple(parcel for parcel in self.parcels if parcel.found() is None)

    def code(self) -> tuple[Path, ...]:
        """Folders with modules of agents."""
        return tuple(found for wheel in self.wheels if (found := wheel.found()) is not None)

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
                    raise lacking(f"{path}, which must be at the same path everywhere, {ways}")
                return path
            case RepositoryAddress(url, commit):
                return repository_at(url, commit, network=self.network)
            case Parcel() as parcel:
                found = parcel.found()
                if found is None:
                    raise lacking(f"{parcel.name}, which was not sent")
                return found
            case address:
                return downloaded(address, network=self.network)


NO_SUPPLIES = Supplies()


def lacking(what: str) -> UsageError:
    """That this machine lacks something."""
    return UsageError(f"{socket.gethostname()} lacks {what}")


def receive(parcels: Sequence[tuple[Parcel, bytes]]) -> None:
    """Unpack what was sent, once for all processes of this machine."""
    for parcel, content in parcels:
        parcel.unpacked(content)


def missing_here(supplies: Supplies) -> tuple[Parcel, ...]:
    """What would have to be sent to this machine."""
    return supplies.missing()
