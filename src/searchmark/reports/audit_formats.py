"""The formats of an audit: which extension asks for which, and the text of each without secrets."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

from searchmark.audit.result import Audit
from searchmark.errors import UsageError
from searchmark.reports.audit_file import audit_json
from searchmark.reports.audit_layout import audit_markdown, audit_text
from searchmark.services.environment_secrets import environment_secrets
from searchmark.services.redaction import scrubbed, unless_known


def audit_format(path: str) -> str:
    """The extension that says how an audit is written; any other is refused."""
    suffix = Path(path).suffix.lower()
    if suffix not in _FORMATS:
        raise UsageError(f"{path}: an audit is written as {', '.join(list(_FORMATS)[:-1])} or {list(_FORMATS)[-1]}")
    return suffix


def without_secrets(found: Audit) -> Audit:
    """The audit with no secret of the environment in any text; ids of cases stay as they are, as in reports."""
    secrets = environment_secrets()
    return scrubbed(found, unless_known(secrets, (case for each in found.findings for case in each.cases)))


def audit_pieces(found: Audit, suffix: str) -> Iterable[str]:
    """An audit as it is written."""
    made = _FORMATS[suffix](without_secrets(found))
    return [made] if isinstance(made, str) else made


def _page(found: Audit) -> Iterable[str]:
    from searchmark.reports.page.audit_page import audit_html

    return audit_html(found)


_FORMATS: dict[str, Callable[[Audit], str | Iterable[str]]] = {
    ".json": audit_json, ".md": audit_markdown, ".html": _page, ".txt": audit_text,
}  # fmt: skip
