"""Whether the network may be used, how much time a search has left, and which key goes where."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from urllib.parse import urlsplit

from searchmark.errors import UsageError

# Whether this process may use the network: checked before any connection is opened, loopback included.
#
# It binds what is ours. Foreign code in the same process opens its connections itself, and only a sandbox stops it.

NO_NETWORK = "--offline and --no-exec allow no network"


# Read by the libraries that download models, when they are imported.
_OFFLINE_VARIABLES = {"HF_HUB_OFFLINE": "1", "TRANSFORMERS_OFFLINE": "1", "HF_HUB_DISABLE_TELEMETRY": "1"}

_before: dict[str, str | None] = {}  # what these variables were

_prohibitions: list[None] = []  # one for each run of this process that forbids it; they may overlap


def network_allowed() -> bool:
    """Whether nothing forbids it."""
    return not _prohibitions


def check_network(address: str) -> None:
    """Refuse to ask an address where that is forbidden."""
    if not network_allowed():
        raise UsageError(f"{address} was not asked: {NO_NETWORK}")


@contextmanager
def network_forbidden() -> Iterator[None]:
    """No connection is opened meanwhile, in all threads of this process."""
    if network_allowed():
        _before.update({name: os.environ.get(name) for name in _OFFLINE_VARIABLES})
        os.environ.update(_OFFLINE_VARIABLES)
    _prohibitions.append(None)
    try:
        yield
    finally:
        _prohibitions.pop()
        if network_allowed():
            _restore_environment()


def _restore_environment() -> None:
    for name, value in _before.items():
        if value is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = value


# Which key goes where: that of a service's own variable is sent to that service and to nobody else.

_PORTS = {"https": 443, "http": 80}


def key_variable_for(url: str, variable: str | None, own_url: str, own_variable: str) -> str | None:
    """The variable with the key for an address: the one that was named beside it, or that of the service if it is its own.

    None where no key is sent; an empty name says so too.
    """
    if variable is not None:
        return variable or None
    return own_variable if url_origin(url) == url_origin(own_url) else None


def url_origin(url: str) -> tuple[str, str, int | None] | None:
    """Scheme, host and port; None for what has none, and without encryption a key would reach others than the host."""
    try:
        parts = urlsplit(url)
        port = parts.port or _PORTS.get(parts.scheme)
    except ValueError:  # refused where it is used
        return None
    return (parts.scheme, parts.hostname.rstrip("."), port) if parts.hostname else None


# When a search must have ended: what waits inside of one knows the time left, and can still say what went wrong.

_RESERVED, _MOST_RESERVED = 0.1, 0.5  # of the time of a search, and seconds at most: for the way of the answer

_END: ContextVar[float] = ContextVar("end", default=math.inf)


@contextmanager
def search_deadline(seconds: float | None) -> Iterator[None]:
    """What happens here is a search that is given up after so many seconds; None if it may take any time."""
    token = _END.set(math.inf if seconds is None else time.monotonic() + seconds - min(_RESERVED * seconds, _MOST_RESERVED))
    try:
        yield
    finally:
        _END.reset(token)


def seconds_left() -> float:
    """How many seconds are left, infinite outside of a search."""
    return _END.get() - time.monotonic()
