"""Which fields of files are what, as ``--map`` says it: of the corpus, of the suite, of saved runs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches

from searchmark.errors import UsageError

# What can be named of each kind of file. Those of the corpus are written without a prefix.
CORPUS_ROLES = ("id", "title", "text", "table")
SUITE_ROLES = ("case", "query", "target", "grade", "category")
RUN_ROLES = ("case", "query", "id", "rank", "score", "agent", "hits", "split")
_HOW = "write it like id=asin or text=bullets,description (corpus), suite.query=question (suite) or run.id=docid (saved runs)"
MAP_HELP = "Name of a field in your files: id=asin, text=a,b (corpus), suite.query=question, run.id=docid; repeatable."


def check_suite_roles(mapping: Mapping[str, str]) -> dict[str, str]:
    """What Python names of a suite: the same roles, each with the name of a field."""
    return _checked("suite", SUITE_ROLES, mapping)


def check_run_roles(mapping: Mapping[str, str]) -> dict[str, str]:
    """The same of a saved run."""
    return _checked("run", RUN_ROLES, mapping)


def _checked(kind: str, roles: tuple[str, ...], mapping: Mapping[str, str]) -> dict[str, str]:
    for role, name in mapping.items():
        if role not in roles:
            near = get_close_matches(str(role), roles, 1)
            meant = f"; did you mean {near[0]}?" if near else ""
            raise UsageError(f"mapping: a {kind} has no {role!r}; it has {', '.join(roles)}{meant}")
        if not isinstance(name, str) or not name.strip():
            raise UsageError(f"mapping: {role} is {name!r}, which is not the name of a field")
    return {role: name.strip() for role, name in mapping.items()}


@dataclass(frozen=True)
class FieldNames:
    """The name that a file has for each role, as far as somebody said so; ``corpus`` texts may be several, by commas."""

    corpus: Mapping[str, str] = field(default_factory=dict)
    suite: Mapping[str, str] = field(default_factory=dict)
    run: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def parse(cls, items: Iterable[str]) -> FieldNames:
        """Read ``id=asin``, ``suite.query=question``, ``run.id=docid``."""
        roles = {"corpus": CORPUS_ROLES, "suite": SUITE_ROLES, "run": RUN_ROLES}
        found: dict[str, dict[str, str]] = {kind: {} for kind in roles}
        for item in items:
            key, separator, name = item.partition("=")
            kind, dot, role = key.strip().rpartition(".")
            kind = kind if dot else "corpus"
            if not separator or not name.strip() or kind not in roles:
                raise UsageError(f"mapping {item!r} cannot be read; {_HOW}")
            if role not in roles[kind]:
                near = get_close_matches(role, roles[kind], 1)
                meant = f"; did you mean {near[0]}?" if near else ""
                raise UsageError(f"mapping {item!r}: a {kind} has no {role!r}; it has {', '.join(roles[kind])}{meant}")
            found[kind][role] = name.strip()
        return cls(**found)
