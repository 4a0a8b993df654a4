"""What becomes of an audit: files, and the terminal."""

from __future__ import annotations

import os
import shutil
import sys
from typing import TYPE_CHECKING

from searchmark.cli._output import STDOUT, show, tell
from searchmark.files.store import write_text

if TYPE_CHECKING:
    from searchmark.audit.result import Audit


def check_audit_outputs(outputs: tuple[str, ...]) -> None:
    """Refused before any work is done."""
    from searchmark.reports.audit_formats import audit_format

    for output in outputs:
        if output != STDOUT:
            audit_format(output)


def write_audit(found: Audit, outputs: tuple[str, ...]) -> None:
    """Write every file that is asked for."""
    from searchmark.reports.audit_formats import audit_format, audit_pieces

    for output in outputs:
        if output != STDOUT:
            write_text(output, audit_pieces(found, audit_format(output)))
            tell(f"written: {output}")


def show_audit(found: Audit, outputs: tuple[str, ...]) -> None:
    """Print it: as JSON if that is asked for, else for the terminal."""
    from searchmark.reports.audit_file import audit_json
    from searchmark.reports.audit_formats import without_secrets
    from searchmark.reports.audit_layout import audit_text
    from searchmark.reports.text import WIDTH

    clean = without_secrets(found)
    on_terminal = sys.stdout is not None and sys.stdout.isatty()
    width = shutil.get_terminal_size((WIDTH, 0)).columns if on_terminal else WIDTH
    colour = on_terminal and not os.environ.get("NO_COLOR")
    show(audit_json(clean) if STDOUT in outputs else audit_text(clean, colour=colour, width=width))
