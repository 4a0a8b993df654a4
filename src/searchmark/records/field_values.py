"""Values of fields of documents, as a suite names them."""

from __future__ import annotations

from typing import Any

# One value or several.
FieldValue = str | bool | int
FieldValues = FieldValue | tuple[FieldValue, ...]


def field_texts(values: Any) -> list[str]:
    """The values of a field as they are compared, each once and sorted; what is nested has none."""
    each = values if isinstance(values, list | tuple) else (values,)
    return sorted({_field_text(value) for value in each if isinstance(value, FieldValue | float)})


def _field_text(value: FieldValue | float) -> str:
    """True and "true" are one value, however a file format spells it."""
    text = str(value).strip()
    return text.lower() if text.lower() in ("true", "false") else text
