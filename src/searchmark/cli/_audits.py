"""What becomes of an audit: files, and the terminal."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from searchmark.cli._colour import in_colour
from searchmark.cli._output import STDOUT, remark, show, tell, width_of_terminal
from searchmark.errors import UsageError
from searchmark.files.store import write_text

if TYPE_CHECKING:
    from searchmark.audit.result import Audit, JudgingPlan


PAIRS = (".csv", ".jsonl")
FEW_GRADES = 5  # that are listed one by one


def check_audit_outputs(outputs: tuple[str, ...], *, pairs: bool = False) -> None:
    """Refused before any work is done; ``pairs`` to judge are files of their own."""
    from searchmark.reports.audit_formats import audit_format

    for output in outputs:
        if _holds_pairs(output) and not pairs:
            raise UsageError(f"{output}: pairs to judge are written with --next, and an audit as .json, .md, .html or .txt")
        if output != STDOUT and not _holds_pairs(output):
            audit_format(output)


def _holds_pairs(output: str) -> bool:
    return Path(output).suffix.lower() in PAIRS


def write_audit(found: Audit, outputs: tuple[str, ...]) -> None:
    """Write every file that is asked for."""
    from searchmark.reports.audit_formats import audit_format, audit_pieces

    for output in outputs:
        if output != STDOUT:
            pieces = _pairs_text(found, Path(output)) if _holds_pairs(output) else audit_pieces(found, audit_format(output))
            write_text(output, pieces)
            remark(f"written: {output}")
            if _holds_pairs(output) and found.plan is not None:
                _tell_pairs(found.plan, output)


def _tell_pairs(plan: JudgingPlan, output: str) -> None:
    if not plan.pairs:
        tell("no unjudged pair changes the comparison, so there is nothing to grade")
        return
    grades = (
        ", ".join(map(str, range(plan.highest_grade + 1))) if plan.highest_grade <= FEW_GRADES else f"0 to {plan.highest_grade}"
    )
    remark(
        f"fill in the column grade ({grades}) and read it back with `searchmark label --gold-set SUITE --import {output} -o FILE`"
    )
    without = sum(pair.document is None for pair in plan.pairs)
    if without:
        tell(f"pairs without a text: {without} of {len(plan.pairs)}; name the documents that were searched with --corpus")


def _pairs_text(found: Audit, path: Path) -> str:
    """The pairs to judge, as a file that people fill in and ``label --import`` reads back."""
    from searchmark.labelling.review_file import ReviewRow, rows_text
    from searchmark.services.environment_secrets import environment_secrets
    from searchmark.services.redaction import scrubbed

    rows = []
    for pair in () if found.plan is None else found.plan.pairs:
        known = pair.document
        about = ("", "", {}) if known is None else (known.title or "", known.text, known.fields)
        rows.append(ReviewRow(pair.case, pair.query, pair.item, *about))
    secrets = environment_secrets()
    return scrubbed(rows_text(rows, path, lambda text: scrubbed(text, secrets)), secrets)


def show_audit(found: Audit, outputs: tuple[str, ...], *, every_table: bool = False) -> None:
    """Print it: as JSON if that is asked for, else for the terminal, where tables that no finding refers to are only named."""
    from searchmark.reports.audit_file import audit_json
    from searchmark.reports.audit_formats import without_secrets
    from searchmark.reports.audit_layout import audit_text
    from searchmark.reports.text import WIDTH

    clean = without_secrets(found)
    width, colour = width_of_terminal(WIDTH), in_colour(sys.stdout)
    text = audit_json(clean) if STDOUT in outputs else audit_text(clean, every_table=every_table, colour=colour, width=width)
    show(text)
