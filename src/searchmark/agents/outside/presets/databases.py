"""Databases with full text: Groonga, and Datasette over SQLite."""

from __future__ import annotations

import json
import re
import string

from searchmark.agents.outside.options import HttpConfig
from searchmark.agents.outside.presets.escaping import escaped_for_groonga, quoted_for_fts5
from searchmark.agents.outside.presets.preset import Preset
from searchmark.agents.outside.presets.weights import searched_fields, without_weights
from searchmark.agents.outside.result_format import ResultFormat
from searchmark.errors import UsageError


def groonga(config: HttpConfig) -> Preset:
    """``select``, best first; an answer is ``[[status, start, elapsed, message], [[[count], columns, row, ...]]]``."""
    columns = "||".join(
        each.name if each.weight is None else f"{each.name}*{each.weight}" for each in searched_fields(config.fields)
    )
    return Preset(
        url="/d/select",
        method="GET",
        parameters={
            "table": config.index,
            "match_columns": columns,
            "query": "{escaped}",
            "output_columns": _COLUMNS,
            "sort_keys": "-_score,_id",
            "limit": "{k}",
        },
        results=ResultFormat(hits="[1][0][2:]", header="[1][0][1][*][0]", id=_first_column(config), score="_score", error="[0][3]"),
        escape=escaped_for_groonga,
    )


_COLUMNS = "_key,_score"


def _first_column(config: HttpConfig) -> str:
    """What ids are in, by name: Groonga leaves out a column that a table does not have, and says nothing of it."""
    first = str(config.parameters.get("output_columns", _COLUMNS)).partition(",")[0].strip()
    return json.dumps(first if re.fullmatch(r"[\w.]+", first) else "_key")


def datasette(config: HttpConfig) -> Preset:
    """A query in SQL over an FTS5 table, best first: rows that ``_search`` finds are in the order of their keys."""
    database, _, table = (config.index or "").partition("/")
    if not database or not table:
        raise UsageError(f"the index of the preset datasette is DATABASE/TABLE, with an FTS5 table, and not {config.index!r}")
    columns = without_weights(config.fields, "Datasette")
    return Preset(
        url=f"/{_in_path(database)}.json",
        method="GET",
        parameters={"sql": _ranked(table, columns), "query": "{escaped}", "k": "{k}", "_shape": "objects"},
        results=ResultFormat(hits="rows", id="path || id || rowid", score="score", error=_TRUNCATED),
        escape=quoted_for_fts5,
    )


_TRUNCATED = "error || (truncated && 'Datasette returns no more rows than its setting max_returned_rows')"


def _ranked(table: str, columns: list[str]) -> str:
    name = _quoted(table)
    searched = ":query"
    if columns:
        filtered = " ".join(_quoted(column) for column in columns).replace("'", "''")
        searched = f"'{{{filtered}}} : (' || :query || ')'"
    return f"select rowid, *, -rank as score from {name} where {name} match {searched} order by rank limit :k"  # noqa: S608  # names are quoted, and come from the user's own config


def _in_path(name: str) -> str:
    """As Datasette spells names in paths: with a tilde where others have a percent sign."""
    return "".join(chr(byte) if chr(byte) in _UNSPELLED else f"~{byte:02X}" for byte in name.encode())


_UNSPELLED = frozenset(f"{string.ascii_letters}{string.digits}_-")


def _quoted(name: str) -> str:
    doubled = name.replace('"', '""')
    return f'"{doubled}"'
