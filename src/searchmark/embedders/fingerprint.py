"""What an index was made of. Vectors that were made otherwise have no business in it."""

from __future__ import annotations

from dataclasses import asdict, fields
from typing import Literal

from searchmark.errors import Incomparable
from searchmark.options.strict import strict_record


@strict_record
class Fingerprint:
    """The model, the hash of its weights, whether it sees lower case, what happened to vectors, how texts were cut, and which.

    None is what is not known or does not matter here, and agrees with everything.
    """

    model: str | None = None
    revision: str | None = None
    case: Literal["folded", "kept"] | None = None
    dimension: int | None = None
    normalize: bool | None = None
    query_prefix: str | None = None
    document_prefix: str | None = None
    chunking: str | None = None
    corpus: str | None = None

    def check(self, other: Fingerprint, place: str) -> None:
        """Refuse vectors of another fingerprint; the sentence names every part in which they differ."""
        mine, theirs = asdict(self), asdict(other)
        differences = [
            f"{field.name} is {theirs[field.name]!r} and not {mine[field.name]!r}"
            for field in fields(self)
            if None not in (mine[field.name], theirs[field.name]) and mine[field.name] != theirs[field.name]
        ]
        if differences:
            raise Incomparable(f"{place} holds vectors with a different fingerprint: {'; '.join(differences)}")
