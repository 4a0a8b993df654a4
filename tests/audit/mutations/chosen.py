"""Mutations for findings on judgments that were chosen."""

from __future__ import annotations

from dataclasses import replace

from searchmark.audit.check import Subject
from tests.audit.clean import Clean
from tests.audit.mutations.mutation import Mutation


def chosen_judgments(clean: Clean) -> Subject:
    subject = clean.subject()
    return replace(subject, suite=replace(subject.suite, metadata={"chosen_judgments": {"c00": ["d0001"]}}))


MUTATIONS: dict[str, Mutation] = {"judgments-not-random": chosen_judgments}
