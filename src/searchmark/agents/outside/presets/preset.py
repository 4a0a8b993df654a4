"""What is known of a search engine: how it is asked and how it answers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from searchmark.agents.outside.result_format import ResultFormat


@dataclass(frozen=True)
class Lookup:
    """A value that one GET finds before the first search: ``{found}`` in the address is what ``path`` (a JMESPath) has there."""

    url: str
    path: str


@dataclass(frozen=True)
class Preset:
    """How an engine is asked and how it answers.

    ``url`` follows the address in the config. It, the parameters, headers, body and form may hold the placeholders of every
    request; ``{escaped}`` is the query as ``escape`` makes it, in which nothing is left for the engine to interpret.
    ``case_requests``: a case of a suite may bring a request of its own, as those of ``_rank_eval`` do.
    """

    url: str
    method: Literal["GET", "POST"] = "POST"
    parameters: Mapping[str, Any] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)
    body: Any = None
    form: Mapping[str, Any] = field(default_factory=dict)
    results: ResultFormat = field(default_factory=ResultFormat)
    escape: Callable[[str], str] | None = None
    lookup: Lookup | None = None
    case_requests: bool = False
