"""What counts as drift: the section ``drift`` of the config file."""

from __future__ import annotations

from math import isfinite
from typing import Annotated

from annotated_types import Gt

from searchmark.errors import UsageError
from searchmark.options.option import Option, check_fields
from searchmark.options.strict import strict_record

DRIFT_LIMIT = 0.05


@strict_record
class DriftOptions:
    """How far a number may be from that of earlier runs; 0.05 is 5 %."""

    limit: Annotated[
        float,
        Gt(0),
        Option("Change from the runs of the last seven days that counts as drift: 0.05 is 5 %.", ("--drift-limit",), "SHARE"),
    ] = DRIFT_LIMIT

    def __post_init__(self) -> None:
        check_fields(self)
        if not isfinite(self.limit):
            raise UsageError(f"limit must be a number, such as 0.05 for 5 %, not {self.limit}")
