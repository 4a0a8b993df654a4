"""Strangers' words as a part of our sentences: secrets are removed before anything is cut, since half of one is not found."""

from __future__ import annotations

import re

from searchmark.errors import shortened
from searchmark.services.environment_secrets import environment_secrets
from searchmark.services.redaction import scrubbed
from searchmark.services.secret_forms import without_credentials

_LOOKED_AT = 1 << 16  # characters at each end; whatever is cut beyond them is far from what is shown
_FIRST_WORD = re.compile(r"\A\S{0,2048}\s+(?=\S)")


def excerpt_of(text: str, width: int) -> str:
    """Both ends of a text, without secrets."""
    ends = text if len(text) <= 2 * _LOOKED_AT else f"{text[:_LOOKED_AT]}...{text[-_LOOKED_AT:]}"
    return shortened(without_known(ends), width)


def end_of(text: str, width: int) -> str:
    """The end of a text, without secrets."""
    clean = without_known(text[-_LOOKED_AT:])
    return clean if len(clean) <= width else f"...{clean[3 - width :]}"


def without_known(text: str) -> str:
    """A text without what is a secret of the environment or looks like one."""
    return scrubbed(without_credentials(text), environment_secrets())


def kept_end(said: bytes, most: int) -> str:
    """What was kept of the output of a program, the last ``most`` bytes: without its first word if that may be half of one."""
    text = said.decode("utf-8", "replace")
    return _FIRST_WORD.sub("", text) if len(said) >= most else text
