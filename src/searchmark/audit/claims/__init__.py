"""Published numbers: what no data could have given."""

from __future__ import annotations

from searchmark.audit.claims.checking import check_claims, claims_table
from searchmark.audit.claims.reading import read_claims

__all__ = ["check_claims", "claims_table", "read_claims"]
