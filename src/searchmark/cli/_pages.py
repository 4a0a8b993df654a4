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
    """Every page by its name, in alphabetical order."""
    folder = next((each for each in FOLDERS if (each / "agents.md").is_file()), None)
    if folder is None:
        raise UsageError("the pages of the documentation are not installed; install Searchmark from its wheel or its source")
    return {file.stem: file for file in sorted(folder.glob("*.md"))}


def topic_lines() -> Iterator[str]:
    """The topics, each with what it is about."""
    known = topics()
    width = max(map(len, known))
    for name, file in known.items():
        title = _TITLE.search(file.read_text("utf-8"))
        yield f"{name:<{width}}  {title[1] if title else ''}".rstrip()


def page_of(topic: str) -> str:
    """The text of a page; its name may be written like that of its file."""
    known, name = topics(), topic.strip().lower().removeprefix("docs/").removesuffix(".md").replace("_", "-")
    if name in known:
        return known[name].read_text("utf-8")
    near = get_close_matches(name, known, 3)
    meant = f"did you mean {' or '.join(near)}? " if near else ""
    raise UsageError(f"no page is about {topic!r}; {meant}'searchmark docs' lists the topics")
