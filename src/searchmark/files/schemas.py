"""The version of each kind of file, and the way from an older one to today's."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from os import PathLike
from typing import Any

from searchmark.errors import FormatError

Migration = Callable[[dict[str, Any]], dict[str, Any]]


@dataclass(frozen=True)
class Schema:
    """One kind of record on disk. ``migrations[n]`` makes version n + 1 of what was read as version n."""

    record: str
    version: int
    migrations: Mapping[int, Migration] = field(default_factory=dict)

    def header(self) -> dict[str, Any]:
        """What a file of this kind begins with."""
        return {"schema_version": self.version, "record": self.record}

    def upgraded(self, path: str | PathLike[str], data: Mapping[str, Any]) -> dict[str, Any]:
        """The data as today's version has it; a version that cannot be brought there is refused."""
        found = data.get("schema_version")
        known = f"this program reads version {self.version} of {'an' if self.record[0] in 'aeiou' else 'a'} {self.record}"
        if found is None:
            raise FormatError(path, "schema_version", f"is missing; {known}")
        if type(found) is not int or found > self.version:
            raise FormatError(path, "schema_version", f"is {found!r}; {known}")
        current = dict(data)
        for version in range(found, self.version):
            if version not in self.migrations:
                raise FormatError(path, "schema_version", f"is {found}; {known}, and cannot read older ones")
            current = {**self.migrations[version](current), "schema_version": version + 1}
        return current
