"""Requests that cases bring along, as those of ``_rank_eval``: sent as they stand, with the number of hits that is wanted."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

from searchmark.agents.outside.options import HttpConfig
from searchmark.agents.outside.presets.preset import Preset
from searchmark.agents.outside.requests import RequestTemplate
from searchmark.agents.outside.results import ResultReader
from searchmark.errors import UsageError
from searchmark.services.outgoing import Outgoing

_BOTH = "join('/', [_index, _id])"


@dataclass(frozen=True)
class CaseRequest:
    """The body of a search, or of a search by template; ``ids``: whether judged ids hold the index."""

    body: Mapping[str, Any]
    template: bool = False
    ids: Literal["id", "index/id"] = "id"

    @classmethod
    def read(cls, plain: Mapping[str, Any]) -> CaseRequest:
        """Read the request of a case."""
        unknown = sorted(plain.keys() - {"body", "template", "ids"})
        if unknown or not isinstance(plain.get("body"), Mapping):
            raise UsageError(
                f"the request of the case has a body, and may have template and ids; it has {', '.join(map(str, plain))}"
            )
        return cls(plain["body"], plain.get("template") is True, "index/id" if plain.get("ids") == "index/id" else "id")

    def sized(self, k: int) -> dict[str, Any]:
        """The body, with the number of hits and without documents unless it says that itself.

        A template that is stored, or written as text, is sent as it is: there it says itself how many hits it wants.
        """
        if not self.template:
            return {"size": k, "_source": False, **self.body}
        source = self.body.get("source")
        sized = {"source": {"size": k, "_source": False, **source}} if isinstance(source, Mapping) else {}
        return {**self.body, **sized}


class CaseSearch:
    """Asks an engine by the requests of cases."""

    def __init__(self, config: HttpConfig) -> None:
        self._search = RequestTemplate(config, "application/json")
        self._by_template = RequestTemplate(replace(config, url=f"{config.url}/template"), "application/json")
        self._reader = ResultReader(config.results, "json")
        with_index = replace(config.results, id=_BOTH) if config.results.id == "_id" else config.results
        self._reader_with_index = ResultReader(with_index, "json")

    @classmethod
    def of(cls, config: HttpConfig, preset: Preset | None) -> CaseSearch | None:
        """For engines to which cases may bring requests; None for others."""
        return cls(config) if preset is not None and preset.case_requests else None

    def outgoing(self, case: CaseRequest, values: Mapping[str, Any]) -> Outgoing:
        """The request of a case; ``values`` are for parameters and headers of the config."""
        return (self._by_template if case.template else self._search).outgoing(values, case.sized(values["k"]))

    def reader(self, case: CaseRequest) -> ResultReader:
        """Reads hits under the ids that the case is judged by."""
        return self._reader_with_index if case.ids == "index/id" else self._reader
