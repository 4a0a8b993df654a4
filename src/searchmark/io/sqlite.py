"""SQLite through apsw, with full-text search and vectors; strangers' files are opened read-only."""

from __future__ import annotations

import stat
from os import PathLike, fspath
from pathlib import Path
from typing import TYPE_CHECKING

from searchmark.errors import FormatError, UsageError

if TYPE_CHECKING:
    import apsw


IN_MEMORY = ":memory:"

PRIVATE_FILE = ""  # SQLite's word for a file without a name, which is gone when it is closed, however that happens

LONGEST_VALUE = 1 << 27  # bytes of one value of a stranger's database

REINSTALL = "install apsw from its wheel, which carries a SQLite that can: pip install --force-reinstall --only-binary apsw apsw"


def open_database(place: str | PathLike[str], patience_ms: int = 60_000) -> apsw.Connection:
    """A connection that waits for other writers instead of failing at once."""
    import apsw

    try:
        connection = apsw.Connection(fspath(place))
    except apsw.Error as error:
        raise UsageError(f"{place} cannot be opened as a SQLite database: {error}") from error
    connection.set_busy_timeout(patience_ms)
    return connection


def open_to_read(path: Path) -> apsw.Connection:
    """A connection to a file that may be a stranger's: nothing is written, and nothing that it defines is run."""
    import apsw

    # Without its log a file is as it will be, and SQLite need not lock it or write beside it.
    has_log = any(_has_log(path, Path(f"{path}{ending}")) for ending in ("-wal", "-journal"))
    address = f"{path.absolute().as_uri()}?mode=ro{'' if has_log else '&immutable=1'}"
    connection = apsw.Connection(address, flags=apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI)
    for setting, value in (
        (apsw.SQLITE_DBCONFIG_DEFENSIVE, 1),
        (apsw.SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0),
        (apsw.SQLITE_DBCONFIG_ENABLE_TRIGGER, 0),
        (apsw.SQLITE_DBCONFIG_ENABLE_VIEW, 0),
        (apsw.SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 0),
    ):
        connection.config(setting, value)
    connection.limit(apsw.SQLITE_LIMIT_LENGTH, LONGEST_VALUE)
    connection.limit(apsw.SQLITE_LIMIT_ATTACHED, 0)
    connection.authorizer = _authorize_reading
    return connection


def _has_log(path: Path, log: Path) -> bool:
    """Whether a database has this log beside it; SQLite would wait for a pipe without end, and follow a link."""
    try:
        mode = log.lstat().st_mode
    except OSError:
        return False
    if not stat.S_ISREG(mode):
        raise FormatError(path, None, f"has a log beside it that is not an ordinary file: {log.name}; remove that first")
    return True


def _authorize_reading(operation: int, name: str | None, argument: str | None, *_: str | None) -> int:
    import apsw

    reads = operation in (apsw.SQLITE_SELECT, apsw.SQLITE_READ)
    describes = operation == apsw.SQLITE_PRAGMA and name == "table_info"
    matches = operation == apsw.SQLITE_FUNCTION and argument == "like"  # of our own question for the tables
    return int(apsw.SQLITE_OK if reads or describes or matches else apsw.SQLITE_DENY)


def load_vector_functions(connection: apsw.Connection) -> None:
    """Let a connection use sqlite-vec, and no other extension."""
    import apsw
    import sqlite_vec  # type: ignore[import-untyped]  # it has no types

    try:
        connection.enable_load_extension(True)
        connection.load_extension(sqlite_vec.loadable_path())
    except (apsw.Error, AttributeError) as error:  # a build without the feature lacks the method
        raise UsageError(
            f"sqlite-vec cannot be loaded ({error}); {extension_problem() or 'reinstall the package sqlite-vec'}"
        ) from error
    connection.enable_load_extension(False)


def sql_name(name: str) -> str:
    """The name of a table or a column as SQL has it, whatever is in it."""
    escaped_name = name.replace('"', '""')
    return f'"{escaped_name}"'


def full_text_problem() -> str | None:
    """Why SQLite cannot search text here, and what to do about it; None if it can."""
    import apsw

    connection = open_database(IN_MEMORY)
    try:
        connection.execute("CREATE VIRTUAL TABLE t USING fts5(x, tokenize='trigram')")  # the youngest of the tokenizers
    except apsw.Error as error:
        return f"this SQLite ({apsw.sqlite_lib_version()}) has no usable FTS5 ({error}); {REINSTALL}"
    finally:
        connection.close()
    return None


def extension_problem() -> str | None:
    """Why SQLite cannot load extensions (sqlite-vec is one) here; None if it can."""
    import apsw

    connection = open_database(IN_MEMORY)
    try:
        connection.enable_load_extension(True)
    except (apsw.Error, AttributeError) as error:  # a build without the feature lacks the method
        return f"this SQLite ({apsw.sqlite_lib_version()}) cannot load extensions ({error}); {REINSTALL}"
    finally:
        connection.close()
    return None
