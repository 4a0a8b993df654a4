"""What the bounds of a gate are worth: out of reach, met by every ranking, met by a random one."""

from __future__ import annotations

from searchmark.audit.subject import Subject
from searchmark.findings import Finding
from searchmark.gates.reach import Reach
from searchmark.gates.rule_findings import with_rules


def bounds_worth(subject: Subject) -> list[Finding]:
    """What is found of every rule by the suite and the corpus alone."""
    reach = Reach(subject.expanded, subject.ids)
    return with_rules((rule.name, rule.worth(reach)) for rule in subject.rules)
