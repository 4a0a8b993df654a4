"""What has to be found out of an engine before it can be searched."""

from __future__ import annotations

import json
from contextlib import closing
from dataclasses import dataclass, replace

from searchmark.agents.outside.options import HttpConfig
from searchmark.agents.outside.presets.preset import Preset
from searchmark.agents.outside.requests import RequestTemplate
from searchmark.agents.outside.results import UnreadableAnswer
from searchmark.services.excerpts import excerpt_of
from searchmark.services.exchange import ClientOptions
from searchmark.services.http_client import HttpClient
from searchmark.services.secret_forms import without_credentials

_SHOWN = 200


@dataclass(frozen=True)
class ServiceLookup:
    """One GET, and where in its answer the value is; ``shown_url`` is its address in errors."""

    request: RequestTemplate
    path: str
    shown_url: str

    @classmethod
    def of(cls, config: HttpConfig, preset: Preset | None) -> ServiceLookup | None:
        """That of a preset, with the headers of the config; None if it needs none."""
        if preset is None or preset.lookup is None:
            return None
        asked = replace(config, url=preset.lookup.url, method="GET", parameters={}, body=None, form={})
        return cls(
            RequestTemplate(asked, "application/json", searches=False), preset.lookup.path, without_credentials(preset.lookup.url)
        )

    def found(self, options: ClientOptions) -> str:
        """Ask for the value."""
        import jmespath

        with closing(HttpClient(self.shown_url, options)) as client:
            text = client.ask(self.request.outgoing({})).text
        try:
            value = jmespath.search(self.path, json.loads(text))
        except ValueError:
            value = None
        if not isinstance(value, str):
            raise UnreadableAnswer(f"the answer about the index has no {self.path!r}: {excerpt_of(text.strip(), _SHOWN)}")
        return value
