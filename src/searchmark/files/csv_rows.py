"""CSV row by row, strictly, with fields as long as a document."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator
from os import PathLike

from searchmark.errors import FormatError

LONGEST_FIELD = 1 << 30


def csv_rows(path: str | PathLike[str], lines: Iterable[str], delimiter: str = ",") -> Iterator[tuple[int, list[str]]]:
    """Every row with the number of its last line.

    How long a field may be is a setting of the whole process in Python, so it is changed for one row at a time and
    whoever else reads CSV in this process never sees it.
    """
    reader = csv.reader(lines, delimiter=delimiter, strict=True)
    while True:
        before = csv.field_size_limit(LONGEST_FIELD)
        try:
            row = next(reader, None)
        except csv.Error as error:
            raise FormatError(path, f"line {reader.line_num}", f"not valid CSV: {error}") from error
        finally:
            csv.field_size_limit(before)
        if row is None:
            return
        yield reader.line_num, row
