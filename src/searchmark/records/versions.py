"""Which versions of data, model and index a result belongs to, in the words of those who archive results."""

from __future__ import annotations

from searchmark.options.strict import strict_record


@strict_record
class Versions:
    """What the section ``versions`` of the config declares; what it leaves open is taken from digests and descriptions."""

    dataset_version: str | None = None
    model_version: str | None = None
    index_params: str | None = None
    chunking_config: str | None = None
    query_set_version: str | None = None
