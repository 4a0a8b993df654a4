"""Which key goes where: that of a service's own variable is sent to that service and to nobody else."""

from __future__ import annotations

from urllib.parse import urlsplit

_PORTS = {"https": 443, "http": 80}


def key_variable_for(url: str, named: str | None, own_url: str, own_variable: str) -> str | None:
    """The variable with the key for an address: the one that was named beside it, or that of the service if it is its own.

    None where no key is sent; an empty name says so too.
    """
    if named is not None:
        return named or None
    return own_variable if origin(url) == origin(own_url) else None


def origin(url: str) -> tuple[str, str, int | None] | None:
    """Scheme, host and port; None for what has none, and without encryption a key would reach others than the host."""
    try:
        parts = urlsplit(url)
        port = parts.port or _PORTS.get(parts.scheme)
    except ValueError:  # refused where it is used
        return None
    return (parts.scheme, parts.hostname.rstrip("."), port) if parts.hostname else None
