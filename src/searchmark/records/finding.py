"""A finding: one thing that a reader must not miss. Its kind says what all findings of one code have in common."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Literal, get_args

from searchmark.config.strict import short_repr

Severity = Literal["error", "warning", "note"]

SEVERITIES: tuple[Severity, ...] = get_args(Severity)


@dataclass(frozen=True)
class Finding:
    """One thing to know before a number is relied on: what (``message``), of which cases, why it matters, what to do about it.

    ``cases`` is empty where the finding is about no single cases, or where they are not known.
    """

    code: str
    severity: Severity
    message: str
    cases: tuple[str, ...] = ()
    why: str | None = None
    fix: str | None = None

    __repr__ = short_repr


# What findings are about: the headings that a reader finds them under, in their order.

Theme = Literal[
    "Runs",
    "Gold against its corpus",
    "Gold against itself",
    "Gold against the agents",
    "What the numbers can be",
    "What the gate can see",
    "Published numbers",
    "Other findings",
]

THEMES: tuple[Theme, ...] = get_args(Theme)

RUNS, CORPUS, GOLD, AGENTS, NUMBERS, GATE, CLAIMS, OTHER = THEMES


@dataclass(frozen=True)
class FindingKind:
    """What all findings of one code have in common. It stands beside the code that makes them.

    ``spoils``: a result with such a finding is untrusted, because it was not measured or measured something else. Other
    errors leave the result as it is and say that it means less than it seems to. Only an error may spoil: whoever does not
    know a code goes by its severity, and so never trusts a result that was spoilt.
    """

    code: str
    severity: Severity
    about: str
    why: str | None = None
    fix: str | None = None
    spoils: bool = False
    table: str | None = None  # of an audit: the one with the numbers behind these findings
    theme: Theme = OTHER

    __repr__ = short_repr

    @property
    def label(self) -> str:
        """The severity, and whether the result is untrusted."""
        return f"{self.severity}, untrusted" if self.spoils else self.severity

    def __post_init__(self) -> None:
        if self.severity not in SEVERITIES or self.theme not in THEMES:
            raise ValueError(f"{self.code}: the severity {self.severity!r} or the theme {self.theme!r} does not exist")
        if self.spoils and self.severity != "error":
            raise ValueError(f"{self.code}: only a finding of severity error can spoil a result")


FINDING_KINDS: dict[str, FindingKind] = {}  # ours by code, of the modules that are loaded


def register(theme: Theme, *kinds: FindingKind, table: str | None = None) -> None:
    """Make kinds of ours known. A code has one meaning."""
    for kind in kinds:
        known = replace(kind, theme=theme, table=kind.table or table)
        if FINDING_KINDS.setdefault(kind.code, known) != known:
            raise ValueError(f"there is another kind of finding with the code {kind.code!r}")


def finding(kind: str | FindingKind, message: str, cases: Iterable[str] = ()) -> Finding:
    """A finding of a kind; a mere code is that of one of ours."""
    kind = FINDING_KINDS[kind] if isinstance(kind, str) else kind
    return Finding(kind.code, kind.severity, message, tuple(cases), kind.why, kind.fix)


def by_severity(findings: Iterable[Finding]) -> list[Finding]:
    """Findings with the worst first, each only once, those of one code side by side."""
    different = list(dict.fromkeys(findings))
    first = {code: at for at, code in reversed([(at, each.code) for at, each in enumerate(different)])}
    return sorted(different, key=lambda each: (SEVERITIES.index(each.severity), first[each.code]))
