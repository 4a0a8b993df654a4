"""Where a CI workflow installs Searchmark from: where this copy came from."""

from __future__ import annotations

import json
import re
import shlex
from contextlib import suppress
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from searchmark.errors import SearchmarkError
from searchmark.git.repository import common_dir, open_repository

_FILL_IN = (
    "say here where Searchmark is installed from, as python -m pip install 'searchmark @ git+https://HOST/PROJECT@COMMIT', "
    "or with the path of a wheel in this repository"
)

_REMOTE = re.compile(r'\[remote "origin"\][^\[]*?^\s*url\s*=\s*(\S+)', re.MULTILINE)

_BY_SSH = re.compile(r"(?:ssh://)?git@(?P<host>[\w.-]+)[:/](?P<path>[\w./-]+)")


@dataclass(frozen=True)
class Installation:
    """The command of a workflow, the comment above it, and what is said of it where the workflow is written."""

    command: str
    comment: str
    said: str


def find_installation(project: Path) -> Installation:
    """A wheel of the project, or else where this copy came from; without one, a step that fails."""
    wheels = sorted(path for pattern in ("searchmark-*.whl", "*/searchmark-*.whl") for path in project.glob(pattern))
    if wheels:
        wheel = f"./{wheels[-1].relative_to(project).as_posix()}"
        return Installation(f"python -m pip install {shlex.quote(wheel)}", "The wheel of this repository.", f"installs {wheel}")
    origin = _origin(_direct_url())
    if origin is None:
        command = f'|\n          echo "::error::{_FILL_IN}"\n          exit 1'
        return Installation(
            command, "Where this copy came from is not known, so this step fails until you name it.", f"fails until you {_FILL_IN}"
        )
    requirement = "searchmark @ git+{}@{}".format(*origin)
    return Installation(
        f"python -m pip install {shlex.quote(requirement)}",
        "The commit that wrote this file: a newer one changes no number before you have looked at it.",
        f"installs {requirement}, as this copy; that commit must have been pushed",
    )


def _direct_url() -> dict[str, Any]:
    with suppress(PackageNotFoundError, ValueError):
        content = json.loads(distribution("searchmark").read_text("direct_url.json") or "{}")
        return content if isinstance(content, dict) else {}
    return {}


def _origin(direct: dict[str, Any]) -> tuple[str, str] | None:
    """The address of a repository that others can reach, and the commit."""
    address, commit = direct.get("url", ""), direct.get("vcs_info", {}).get("commit_id", "")
    if "dir_info" in direct:
        folder = Path(unquote(urlsplit(address).path))
        with suppress(SearchmarkError, OSError), open_repository(folder) as repository:
            commit = repository.commit("HEAD")
            match = _REMOTE.search((common_dir(repository.git_dir) / "config").read_text())
            address = match[1] if match else ""
    by_ssh = _BY_SSH.fullmatch(address)
    parts = urlsplit(f"https://{by_ssh['host']}/{by_ssh['path']}" if by_ssh else address)
    if parts.scheme != "https" or parts.username or parts.password or parts.query or not commit:
        return None
    return f"https://{parts.netloc}{parts.path}", commit
