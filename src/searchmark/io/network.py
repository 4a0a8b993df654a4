"""Whether this process may use the network; whoever opens a connection asks here first, loopback included.

It binds what is ours. Foreign code in the same process opens its connections itself, and only a sandbox stops it.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

from searchmark.errors import UsageError

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
