"""What is sent to the machines of an executor before tasks are, and with them: repositories as bundles, and code as wheels.

Every machine is sent a parcel once. Those that are known are asked beforehand; one that comes later says with its first task what
it lacks, and gets the task again with that.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

from searchmark.corpora.locations import Commit, Location
from searchmark.executors.pool import TaskPool
from searchmark.files.wheels import read_wheel, wheel_digest
from searchmark.history.bundles import make_bundle
from searchmark.shipping.delivery import Delivery
from searchmark.shipping.supplies import Address, Parcel, Supplies, missing_here, receive


class Sender:
    """Parcels, and where everything is to be had. ``folder`` is for bundles, as long as there is anything to send.

    ``commits`` are those that are needed of each repository, by its path on this machine.
    """

    def __init__(self, delivery: Delivery, commits: Mapping[Path, Iterable[str]], network: bool, folder: Path) -> None:
        self._contents: dict[Parcel, Path] = {}
        bundles = self._bundled(delivery, commits, folder) if delivery.ship else {}
        wheels = tuple(self._wheel(path) for path in delivery.wheels)
        self.supplies = Supplies({**bundles, **delivery.addresses}, wheels, network)

    def _bundled(self, delivery: Delivery, commits: Mapping[Path, Iterable[str]], folder: Path) -> dict[Path, Address]:
        """A bundle for every repository that has no address of its own."""
        sent = {path: wanted for path, wanted in commits.items() if path not in delivery.addresses}
        return {path: self._bundle(path, wanted, folder / f"{number}.bundle") for number, (path, wanted) in enumerate(sent.items())}

    def _bundle(self, repository: Path, commits: Iterable[str], file: Path) -> Parcel:
        parcel = Parcel("bundle", repository.name, make_bundle(repository, commits, file))
        self._contents[parcel] = file
        return parcel

    def _wheel(self, path: Path) -> Parcel:
        parcel = Parcel("wheel", path.name, wheel_digest(read_wheel(path)))
        self._contents[parcel] = path
        return parcel

    def send(self, pool: TaskPool) -> None:
        """Send everything to all machines that are known now and lack it."""
        asked = pool.everywhere(missing_here, self.supplies) if self.supplies.parcels else None
        missing = {parcel for each in asked or () for parcel in each}
        if missing:
            pool.everywhere(receive, self.opened(missing))

    def clear(self) -> None:
        """Remove the bundles, once nobody can lack them any more."""
        for parcel, file in self._contents.items():
            if parcel.kind == "bundle":
                file.unlink()

    def opened(self, parcels: Iterable[Parcel]) -> tuple[tuple[Parcel, bytes], ...]:
        """Parcels with their contents, for a machine that has said that it lacks them."""
        return tuple((parcel, self._contents[parcel].read_bytes()) for parcel in parcels)


def commits_in(locations: Iterable[Location]) -> dict[Path, tuple[str, ...]]:
    """The commits of each repository that are searched, by its path."""
    commits: dict[Path, dict[str, None]] = {}
    for location in locations:
        if isinstance(location, Commit):
            commits.setdefault(location.path, {})[location.commit] = None
    return {path: tuple(each) for path, each in commits.items()}
