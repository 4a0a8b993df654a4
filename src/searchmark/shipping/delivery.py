"""How the machines of an executor come by what a run needs, as far as they do not have it already."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from searchmark.files.wheels import read_wheel, unpacked_wheel, wheel_digest
from searchmark.history.addresses import RepositoryAddress


@dataclass(frozen=True)
class Delivery:
    """``ship``: repositories are sent along. ``wheels`` hold code of agents, for this machine too.

    ``addresses`` are where the files and repositories that lie at these paths on this machine can be had from.
    """

    ship: bool = False
    wheels: tuple[Path, ...] = ()
    addresses: Mapping[Path, RepositoryAddress | str] = field(default_factory=dict)

    def code(self) -> tuple[Path, ...]:
        """Folders of this machine with the modules of the wheels."""
        contents = [read_wheel(path) for path in self.wheels]
        return tuple(unpacked_wheel(content, wheel_digest(content)) for content in contents)


NOTHING_DELIVERED = Delivery()
