"""Connections to PostgreSQL, and what is said where it refuses something; no sentence ever holds a password.

psycopg is imported when a connection is asked for. A connection that was lost stays lost: what was in the database then may
not be what was there before, and a search that fails is better than one that answers from something else.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from searchmark.errors import ServiceError, UsageError
from searchmark.services.environment_secrets import forms_of
from searchmark.services.network import check_network
from searchmark.services.redaction import scrubbed
from searchmark.services.secret_forms import passwords_in
from searchmark.services.variables import DEFAULT_DSN, DSN_VARIABLE, with_variables

if TYPE_CHECKING:
    import psycopg

    Connection = psycopg.Connection[Any]

CONNECT_SECONDS = 10
_PASSWORD_REFUSED = re.compile(r"password authentication failed|no password supplied")
_NOT_THERE = re.compile(r"Connection refused|No such file|timeout|timed out|could not translate|resolve|unreachable")


@dataclass(frozen=True)
class Extension:
    """The extension pgvector as a database has it: in which schema, and which version."""

    schema: str
    version: str

    def has(self, *version: int) -> bool:
        """Whether it is this version or a later one."""
        return tuple(int(part) for part in re.findall(r"\d+", self.version)) >= version


def connected(dsn: str) -> Connection:
    """A connection that commits by itself; ``dsn`` may name environment variables as ``${NAME}``."""
    check_network("PostgreSQL")
    psycopg = _imported()
    _refuse_literal_password(dsn)
    address = _address(dsn)
    try:
        parts = psycopg.conninfo.conninfo_to_dict(address)
    except psycopg.Error:
        raise UsageError("dsn is not an address of a database; write postgresql://USER@HOST:PORT/NAME") from None
    parts["application_name"] = "searchmark"
    try:
        connection: Connection = psycopg.connect(**{"connect_timeout": CONNECT_SECONDS, **parts}, autocommit=True)
    except psycopg.Error as error:
        raise _refused(error, parts, address) from None
    with suppress(psycopg.Error):  # a server that cannot do it finds out later that we were killed
        connection.execute("SET client_connection_check_interval = '2s'")
    return connection


def is_reached_by_socket(dsn: str) -> bool:
    """Whether an address is that of a Unix socket, as far as that is known without asking."""
    try:
        psycopg, address = _imported(), _address(dsn)
    except UsageError:  # whoever connects says what is wrong
        return False
    try:
        parts = psycopg.conninfo.conninfo_to_dict(address)
    except psycopg.Error:
        return False
    return not parts.get("hostaddr") and str(parts.get("host") or "/").startswith(("/", "@"))


def vector_extension(connection: Connection) -> Extension:
    """The extension ``vector``, which must be there: to install it is for the owner of the database."""
    row = connection.execute(
        "SELECT n.nspname, e.extversion FROM pg_extension e JOIN pg_namespace n ON n.oid = e.extnamespace "
        "WHERE e.extname = 'vector'"
    ).fetchone()
    if row is None:
        name = connection.info.dbname
        raise UsageError(f"the database {name!r} has no extension vector; its owner can run CREATE EXTENSION vector there")
    return Extension(*row)


@contextmanager
def explained(doing: str) -> Iterator[None]:
    """Whatever PostgreSQL refuses meanwhile, in one sentence."""
    psycopg = _imported()
    try:
        yield
    except psycopg.Error as error:
        failed = "the connection to PostgreSQL was lost" if is_lost(error) else "PostgreSQL failed"
        raise ServiceError(f"{failed} while {doing}", excerpt=said_by(error)) from None


def is_lost(error: Any) -> bool:
    """By the server's own word; the library says nothing about states, neither of lost connections nor of values it cannot send."""
    if error.sqlstate is None:
        return isinstance(error, _imported().OperationalError | _imported().InterfaceError)
    return bool(error.sqlstate.startswith(("08", "57P")))


def _imported() -> Any:
    try:
        import psycopg
    except ImportError:
        raise UsageError(
            "PostgreSQL is asked through psycopg, which is not installed; install the extra: pip install 'searchmark[postgres]'"
        ) from None
    return psycopg


def _refuse_literal_password(dsn: str) -> None:
    if passwords_in(dsn):
        raise UsageError(
            "dsn holds a password, which would be stored with the config; put the password into an environment variable and write "
            f"${{MY_PASSWORD}}, or the whole address into {DSN_VARIABLE}"
        )


def _address(dsn: str) -> str:
    if dsn == DEFAULT_DSN or not dsn.strip():  # without any, the library would take one that the machine has
        with suppress(UsageError):
            return with_variables(DEFAULT_DSN)
        raise UsageError(f"no database is named: give --dsn, set the environment variable {DSN_VARIABLE}, or the option dsn")
    return with_variables(dsn)


def _refused(error: Exception, parts: dict[str, Any], address: str) -> ServiceError:
    said = _without_passwords(said_by(error), address)
    where = f"{parts.get('host') or 'localhost'}:{parts.get('port') or 5432}"
    if _PASSWORD_REFUSED.search(said):
        return ServiceError(f"PostgreSQL at {where} refuses the user or the password of dsn", excerpt=said)
    if _NOT_THERE.search(said):
        return ServiceError(f"no PostgreSQL answers at {where}; is it running, and is dsn right?", excerpt=said)
    return ServiceError(f"PostgreSQL at {where} refuses the connection", excerpt=said)


def said_by(error: Exception) -> str:
    """The first line of what a server or its library says; others repeat the statement."""
    return next(iter(str(error).strip().splitlines()), type(error).__name__)


def _without_passwords(text: str, address: str) -> str:
    return scrubbed(text, frozenset(form for each in {address, *passwords_in(address)} for form in forms_of(each)))
