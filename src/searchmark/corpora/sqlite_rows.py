"""Rows of a table in a SQLite database that may be anybody's: opened to read, and nothing in it is run.

Views, virtual tables, triggers and computed columns are left alone: they are code of whoever wrote the file.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from searchmark.errors import FormatError, shortened
from searchmark.files.sqlite import open_to_read
from searchmark.files.text_encoding import text_in

if TYPE_CHECKING:
    import apsw

MAGIC = b"SQLite format 3\0"
_TABLES = (
    "SELECT name FROM sqlite_schema WHERE type = 'table' AND sql NOT LIKE 'create virtual%' AND name NOT LIKE 'sqlite\\_%' "
    "ESCAPE '\\' ORDER BY name"
)
_VIRTUAL = "SELECT name FROM sqlite_schema WHERE type = 'table' AND sql LIKE 'create virtual%'"
SHOWN = 300


def sqlite_records(path: Path, table: str | None) -> Iterator[tuple[str, dict[str, Any]]]:
    """Each row of a table with its place; ``table`` may be left out where there is one only."""
    import apsw

    try:
        connection = open_to_read(path)
        try:
            chosen = _table(path, connection, table)
            columns = [row[1] for row in connection.execute(f"PRAGMA table_info({_quoted(chosen)})")]
            listed = ", ".join(map(_quoted, columns))
            rows = connection.execute(f"SELECT {listed} FROM {_quoted(chosen)}")  # noqa: S608  # quoted names
            for number, row in enumerate(rows, 1):
                values = (text_in(value) if isinstance(value, bytes) else value for value in row)
                yield f"{chosen}, row {number}", dict(zip(columns, values, strict=True))
        finally:
            connection.close()
    except UnicodeDecodeError as error:
        raise FormatError(path, None, "holds text that is not UTF-8; store it as UTF-8, or as a BLOB") from error
    except apsw.Error as error:
        raise FormatError(path, None, f"cannot be read as a SQLite database: {shortened(str(error), SHOWN)}") from error


def _table(path: Path, connection: apsw.Connection, wanted: str | None) -> str:
    names = [str(row[0]) for row in connection.execute(_TABLES)]
    virtual = [str(row[0]) for row in connection.execute(_VIRTUAL)]
    # A full-text or vector table keeps its rows in tables of its own, which are called after it.
    tables = [name for name in names if not any(name.startswith(f"{each}_") for each in virtual)]
    listed = shortened(", ".join(tables), SHOWN)
    if wanted is not None:
        found = next((name for name in names if name.lower() == wanted.lower()), None)
        if found is None:
            raise FormatError(path, None, f"has no table {wanted!r} that can be read; the tables are {listed or 'none'}")
        return found
    if len(tables) != 1:
        reason = f"has {len(tables)} tables ({listed}); name one with --map table={tables[0]}" if tables else "has no table"
        raise FormatError(path, None, reason)
    return tables[0]


def _quoted(name: str) -> str:
    escaped = name.replace('"', '""')
    return f'"{escaped}"'
