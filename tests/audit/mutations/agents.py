"""Mutations for findings on agents."""

from __future__ import annotations

from tests.audit.mutations.mutation import Mutation

MUTATIONS: dict[str, Mutation] = {}
