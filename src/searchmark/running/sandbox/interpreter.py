"""Where Python, its packages and the programs that agents use are on this machine."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path

# Without -P the working directory would be among them. A package that is installed as a link to its sources may have a
# finder of its own, which knows where these are.
_PROBE = """
import json, sys
mapped = [path for name, module in sys.modules.items() if name.startswith("__editable__") for path in module.MAPPING.values()]
print(json.dumps([*sys.path, *mapped, sys.prefix, sys.base_prefix, sys.exec_prefix, sys.base_exec_prefix]))
"""
PROBE_SECONDS = 60
PROGRAMS = ("git", "rg")
SYSTEM = (
    "/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/nix/store", "/gnu/store",
    "/etc/ld.so.cache", "/etc/ld.so.conf", "/etc/ld.so.conf.d", "/etc/alternatives", "/etc/passwd", "/etc/group",
    "/etc/nsswitch.conf", "/etc/localtime", "/etc/timezone", "/etc/mime.types", "/etc/ssl/certs", "/etc/ssl/openssl.cnf",
    "/etc/pki/tls", "/etc/pki/ca-trust", "/etc/ca-certificates", "/sys/devices/system/cpu",
)  # fmt: skip
SYSTEM_WITH_NETWORK = ("/etc/resolv.conf", "/etc/hosts", "/etc/host.conf", "/etc/gai.conf", "/etc/services", "/etc/protocols")


@cache
def interpreter_paths() -> tuple[Path, ...]:
    """What a new interpreter imports from, PYTHONPATH included, and the programs that lie elsewhere than the system's."""
    command = [sys.executable, "-P", "-c", _PROBE]
    said = subprocess.run(command, capture_output=True, check=True, timeout=PROBE_SECONDS, stdin=subprocess.DEVNULL).stdout  # noqa: S603  # our own interpreter
    programs = [found for name in PROGRAMS if (found := shutil.which(name))]
    paths = [Path(path) for path in (sys.executable, *json.loads(said), *programs) if path]
    return tuple(path for path in dict.fromkeys(paths) if path.exists())


def system_paths(*, network: bool) -> tuple[Path, ...]:
    """What programs need to start at all."""
    wanted = SYSTEM + (SYSTEM_WITH_NETWORK if network else ())
    return tuple(path for path in map(Path, wanted) if path.exists())
