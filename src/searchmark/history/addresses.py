"""Repositories that lie elsewhere: ``URL@COMMIT``, where the commit is a full hash, so that a run names what it searched."""

from __future__ import annotations

import re
from dataclasses import dataclass
from urllib.parse import unquote, urlsplit

from searchmark.errors import UsageError, shortened
from searchmark.services.secret_forms import without_credentials

SCHEMES = ("https", "ssh", "file")
FORM = "URL@COMMIT, as https://host/project.git@ and the 40 digits of a full commit"
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
        _refuse_others(self.url)
        if _COMMIT.fullmatch(self.commit) is None:
            shown = shortened(repr(self.commit), _SHOWN)
            raise UsageError(
                f"{self.url}: {shown} is not a full commit, and a run must name what it searched; give all its 40 digits "
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
    _refuse_others(text)
    url, _, commit = text.rpartition("@")
    if not url or "/" in commit:  # the sign belongs to ssh://git@host, or there is none
        raise UsageError(f"{shortened(text, _SHOWN)} names no commit, and a run must name what it searched; write {FORM}")
    return RepositoryAddress(url, commit.lower())


def refuse_scp_form(text: str) -> None:
    """Refuse ``git@host:project``, which is an address that looks like a path."""
    found = _SCP.fullmatch(text)
    if found is not None:
        raise UsageError(f"{shortened(text, _SHOWN)!r} is not a repository; write ssh://{found[1]}/{shortened(found[2], _SHOWN)}")


def _refuse_credentials(text: str) -> None:
    """No sentence about such an address may show it."""
    bare = _SSH_USER.sub(r"\1", text)
    if without_credentials(bare) != bare:
        raise UsageError(
            "the address of a repository holds a user, a password or a token, which would end up in files; leave that out: a "
            "public one needs none, and for others ssh:// uses your keys"
        )


def _refuse_others(url: str) -> None:
    shown = shortened(repr(url), _SHOWN)
    try:
        parts = urlsplit(url)
        host = parts.hostname or ""
    except ValueError:  # brackets that do not close
        raise UsageError(f"{shown} is not the address of a repository; write {FORM}") from None
    if parts.scheme not in SCHEMES:
        raise UsageError(f"{shown}: a repository is fetched by {', '.join(SCHEMES[:-1])} or {SCHEMES[-1]}, not {parts.scheme}")
    here = host in ("", "localhost")
    whole = bool(parts.path.strip("/")) and (here if parts.scheme == "file" else bool(host))
    if not whole or not url.isprintable() or len(url) > _LONGEST:
        raise UsageError(f"{shown} is not the address of a repository; write {FORM}")
