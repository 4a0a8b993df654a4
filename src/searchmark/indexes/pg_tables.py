"""Tables of our own in a database of others: one per index, in a schema of ours, and none is left behind for long.

The name of a table is the number of a lock that its session holds. The server lets go of the lock when the session ends, however
that happens, so a table whose lock can be had belongs to no process any longer.
"""

from __future__ import annotations

import re
import secrets
from dataclasses import dataclass
from typing import TYPE_CHECKING

from searchmark.errors import UsageError

if TYPE_CHECKING:
    from psycopg import sql

    from searchmark.services.postgres import Connection

PREFIX = "searchmark_vectors_"
COMMENT = "made by searchmark for one process, and dropped when that ends"
_OURS = re.compile(rf"{PREFIX}([0-9a-f]{{16}})")


@dataclass(frozen=True)
class OwnTable:
    """A table that lives as long as its session."""

    schema: str
    name: str

    @property
    def identifier(self) -> sql.Identifier:
        from psycopg import sql

        return sql.Identifier(self.schema, self.name)

    @property
    def lock(self) -> int:
        return _lock_of(self.name)

    def drop(self, connection: Connection) -> None:
        """Remove the table, and let go of its lock."""
        from psycopg import sql

        connection.execute(sql.SQL("DROP TABLE IF EXISTS {}").format(self.identifier))
        connection.execute("SELECT pg_advisory_unlock(%s)", [self.lock])


def new_table(connection: Connection, schema: str, vector_type: sql.Composable) -> OwnTable:
    """An empty table with a number and a vector in each row; tables of processes that were killed are removed first."""
    from psycopg import sql

    _make_schema(connection, schema)
    _check_rights(connection, schema)
    _remove_abandoned(connection, schema)
    table = OwnTable(schema, f"{PREFIX}{secrets.token_hex(8)}")
    connection.execute("SELECT pg_advisory_lock(%s)", [table.lock])  # before the table is there to be found
    with connection.transaction():
        made = sql.SQL("CREATE UNLOGGED TABLE {} (number bigint PRIMARY KEY, embedding {} NOT NULL)")
        connection.execute(made.format(table.identifier, vector_type))
        connection.execute(sql.SQL("COMMENT ON TABLE {} IS {}").format(table.identifier, sql.Literal(COMMENT)))
    return table


def _check_rights(connection: Connection, schema: str) -> None:
    row = connection.execute(
        "SELECT has_schema_privilege(%s, 'USAGE') AND has_schema_privilege(%s, 'CREATE')", [schema] * 2
    ).fetchone()
    if row is None or not row[0]:
        user = connection.info.user
        raise UsageError(
            f"the user {user!r} may not create tables in the schema {schema!r}; let its owner run "
            f'GRANT USAGE, CREATE ON SCHEMA "{schema}" TO "{user}", or name a schema of yours as the option schema'
        )


def _make_schema(connection: Connection, schema: str) -> None:
    import psycopg
    from psycopg import sql

    if connection.execute("SELECT 1 FROM pg_namespace WHERE nspname = %s", [schema]).fetchone() is not None:
        _refuse_others(connection, schema)
        return
    try:
        connection.execute(sql.SQL("CREATE SCHEMA IF NOT EXISTS {}").format(sql.Identifier(schema)))
    except psycopg.errors.InsufficientPrivilege:
        info = connection.info
        raise UsageError(
            f"the user {info.user!r} may not create the schema {schema!r} in the database {info.dbname!r}; let its owner run "
            f'GRANT CREATE ON DATABASE "{info.dbname}" TO "{info.user}", or name a schema of yours as the option schema'
        ) from None
    except (psycopg.errors.UniqueViolation, psycopg.errors.DuplicateSchema):
        pass  # another process has just made it


def _refuse_others(connection: Connection, schema: str) -> None:
    """Refuse a schema that holds anything else; indexes and the like belong to tables."""
    row = connection.execute(
        "SELECT c.relname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = %s "
        "AND c.relkind NOT IN ('i', 'I', 't') AND c.relname !~ %s ORDER BY c.relname LIMIT 1",
        [schema, f"^{_OURS.pattern}$"],
    ).fetchone()
    if row is not None:
        raise UsageError(f"the schema {schema!r} holds {row[0]!r}, which is not ours; set the option schema to a new name")


def _remove_abandoned(connection: Connection, schema: str) -> None:
    """Drop what killed processes of this user left: tables with our name and comment whose lock can be had."""
    found = connection.execute(
        "SELECT c.relname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = %s AND c.relkind = 'r' "
        "AND pg_get_userbyid(c.relowner) = current_user AND obj_description(c.oid, 'pg_class') = %s",
        [schema, COMMENT],
    ).fetchall()
    for (name,) in found:
        if _OURS.fullmatch(name):
            _drop_if_abandoned(connection, OwnTable(schema, name))


def _drop_if_abandoned(connection: Connection, table: OwnTable) -> None:
    row = connection.execute("SELECT pg_try_advisory_lock(%s)", [table.lock]).fetchone()
    if row is not None and row[0]:
        table.drop(connection)


def _lock_of(name: str) -> int:
    return int.from_bytes(bytes.fromhex(name.removeprefix(PREFIX)), "big", signed=True)
