"""Where a run was measured: versions and machine. A latency belongs to one host, and is held against no other's."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from searchmark.options.strict import strict_record

GIGABYTE = 1e9


@dataclass(frozen=True)
class Host:
    """One machine, by its name and by what decides on times and is the same after a restart."""

    name: str
    hardware: str | None = None


@strict_record(slots=True)
class Environment:
    """Versions and machine; ``host`` is the name of the machine, None in files of earlier versions."""

    python: str
    platform: str
    packages: Mapping[str, str] = field(default_factory=dict)
    cpu: str | None = None
    cores: int | None = None
    memory_bytes: int | None = None
    host: str | None = None

    @property
    def hardware(self) -> str | None:
        """Processor, cores and memory, in whole gigabytes: a new kernel keeps a little more or less of it for itself."""
        known = (
            self.cpu,
            f"{self.cores} cores" if self.cores else None,
            f"{self.memory_bytes / GIGABYTE:.0f} GB" if self.memory_bytes else None,
        )
        return ", ".join(filter(None, known)) or None

    @property
    def measured_on(self) -> Host | None:
        """The host; None where its name is not known, and what is not known is not different."""
        return Host(self.host, self.hardware) if self.host else None


def host_names(hosts: Iterable[Host]) -> dict[Host, str]:
    """What each host is called among these: its name, and its hardware where another one is called alike."""
    distinct = list(dict.fromkeys(hosts))
    alike = Counter(host.name for host in distinct)
    return {host: host.name if alike[host.name] == 1 else f"{host.name} ({host.hardware})" for host in distinct}
