"""What a mutation is."""

from __future__ import annotations

from collections.abc import Callable

from searchmark.audit.check import Subject
from tests.audit.clean import Clean

Mutation = Callable[[Clean], Subject]
