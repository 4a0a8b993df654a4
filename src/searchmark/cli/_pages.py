"""The pages of the documentation: beside the package where it is installed, in ``docs`` where it is a source checkout."""

from __future__ import annotations

import re
from collections.abc import Iterator
from difflib import get_close_matches
from pathlib import Path

from searchmark.errors import UsageError

PACKAGE = Path(__file__).parent.parent
FOLDERS = (PACKAGE / "pages", PACKAGE.parent.parent / "docs")
_TITLE = re.compile(r"^# (.+)$", re.MULTILINE)


def topics() -> dict[str, Path]:
    """Every page by its name, those of a folder behind the name of the folder: those at the top first, in alphabetical order."""
    folder = next((each for each in FOLDERS if (each / "agents.md").is_file()), None)
    if folder is None:
        raise UsageError("the pages of the documentation are not installed; install Searchmark from its wheel or its source")
    named = {file.relative_to(folder).with_suffix("").as_posix().lower(): file for file in folder.rglob("*.md")}
    return dict(sorted(named.items(), key=lambda each: ("/" in each[0], each[0])))


def topic_lines() -> Iterator[str]:
    """The topics, each with what it is about."""
    known = topics()
    width = max(map(len, known))
    for name, file in known.items():
        title = _TITLE.search(file.read_text("utf-8"))
        yield f"{name:<{width}}  {title[1] if title else ''}".rstrip()


def page_of(topic: str) -> str:
    """The text of a page; its name may be written like that of its file, and a folder means its index."""
    known, name = topics(), topic.strip().lower().removeprefix("docs/").removesuffix(".md").replace("_", "-")
    found = known.get(name) or known.get(f"{name.rstrip('/')}/readme")
    if found is not None:
        return found.read_text("utf-8")
    near = get_close_matches(name, known, 3)
    meant = f"did you mean {' or '.join(near)}? " if near else ""
    raise UsageError(f"no page is about {topic!r}; {meant}'searchmark docs' lists the topics")
