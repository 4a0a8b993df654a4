"""Real vectors: 437 operations with all-mpnet-base-v2, from a store of sqlite-vec that is not part of this repository."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import apsw
import numpy as np
import zstandard


@cache
def jira_vectors(shared_data: Path) -> tuple[list[str], np.ndarray]:
    """Ids and vectors, read from the tables in which sqlite-vec keeps them: one blob for 1024 vectors."""
    packed = (shared_data / "jira_dc_store" / "jira_dc.store.db.zst").read_bytes()
    database = apsw.Connection(":memory:")
    database.deserialize("main", zstandard.ZstdDecompressor().decompressobj().decompress(packed))
    database.pragma("journal_mode", "memory")
    ids = [name for (name,) in database.execute("SELECT id FROM semantic_endpoints_rowids ORDER BY chunk_id, chunk_offset")]
    blob = database.execute("SELECT vectors FROM semantic_endpoints_vector_chunks00").get
    return ids, np.frombuffer(blob, dtype="<f4").reshape(-1, 768)[: len(ids)]
