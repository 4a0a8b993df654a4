"""A sweep as text, Markdown, HTML, CSV, JSON or a picture: functions of the result alone."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path

from searchmark.errors import UsageError
from searchmark.files.store import atomic_write, write_text
from searchmark.reports.cells import Table
from searchmark.reports.quoting import LONGEST_SENTENCE, csv_text, markdown_line, markdown_text, visible, without_commands
from searchmark.services.environment_secrets import environment_secrets
from searchmark.services.redaction import scrubbed
from searchmark.sweeps.layout import about, facts, headline, legend, pictures, tables
from searchmark.sweeps.result import SWEEP_SCHEMA, MeanValue, Sweep, SweepRow

PICTURES = ("png", "svg")


def harmless(sweep: Sweep) -> Sweep:
    """The sweep without secrets of the environment in any text."""
    return scrubbed(sweep, environment_secrets())


def title(sweep: Sweep) -> str:
    return f"{sweep.suite.name}: sweep of {sweep.agent}"


def to_text(sweep: Sweep, *, colour: bool = False, width: int | None = None) -> str:
    """For the terminal."""
    import rich.text

    from searchmark.reports.text import WIDTH, Part, printed

    def line(text: str, style: str = "") -> rich.text.Text:
        return rich.text.Text(visible(text, LONGEST_SENTENCE), style=style)

    notes = (line(f"note: {note}", "yellow") for note in sweep.notes)
    parts: list[Part] = [
        line(about(sweep), "bold"),
        *(part for found, caption in tables(sweep) for part in (line(caption), found)),
        *map(line, legend(sweep)),
        *notes,
        line(sweep.sentence, "bold"),
    ]
    return printed(parts, colour=colour, width=width or WIDTH)


def to_markdown(sweep: Sweep) -> str:
    from searchmark.reports.markdown import table_lines

    lines = [
        f"# {markdown_text(title(sweep), LONGEST_SENTENCE)}",
        "",
        f"**{markdown_text(sweep.sentence, LONGEST_SENTENCE)}**",
        "",
        f"{markdown_line(about(sweep), LONGEST_SENTENCE)}.",
        "",
        *(each for found, caption in tables(sweep) for each in table_lines(found, caption)),
        *(f"- {markdown_line(each, LONGEST_SENTENCE)}" for each in legend(sweep)),
        *(f"- {markdown_line(note, LONGEST_SENTENCE)}" for note in sweep.notes),
    ]
    return without_commands("\n".join(lines).rstrip() + "\n")


def to_json(sweep: Sweep) -> str:
    """All of it; what was not measured is null."""
    data = {**SWEEP_SCHEMA.header(), **asdict(sweep)}
    return json.dumps(data, indent=1, ensure_ascii=True, allow_nan=False, default=datetime.isoformat) + "\n"


@dataclass(frozen=True)
class _SweepPage:
    """What the template shows."""

    title: str
    about: str
    headline: str
    sentence: str
    facts: list[tuple[str, str]]
    tables: list[tuple[Table, str]]
    legend: list[str]
    pictures: list[tuple[object, str]]
    notes: tuple[str, ...]


def to_html(sweep: Sweep) -> Iterator[str]:
    from searchmark.reports.page.document import filled
    from searchmark.reports.page.pictures import scatter_of

    drawn = [(scatter_of(found), caption) for found, caption in pictures(sweep)]
    page = _SweepPage(
        title=title(sweep),
        about=about(sweep),
        headline=headline(sweep),
        sentence=sweep.sentence,
        facts=facts(sweep),
        tables=tables(sweep),
        legend=legend(sweep),
        pictures=list(drawn),
        notes=sweep.notes,
    )
    return filled("sweep.html", page=page)


def to_csv(sweep: Sweep) -> str:
    """One row per setting, values in full; what was not measured is an empty cell."""
    measures = list(dict.fromkeys(name for row in sweep.rows for name in row.measures))
    rows = [_cells(sweep, number, row, measures) for number, row in enumerate(sweep.rows, 1)]
    file = io.StringIO()
    writer = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return file.getvalue()


def _cells(sweep: Sweep, number: int, row: SweepRow, measures: Iterable[str]) -> dict[str, object]:
    against = row.against_baseline
    cells: dict[str, object] = {
        "number": number,
        "setting": csv_text(row.name),
        "choices": csv_text(json.dumps(row.choices, default=str)),
        "baseline": row.is_baseline,
        "added": row.added,
        "cheapest": row.name == sweep.cheapest,
        "failure": csv_text(row.failure or ""),
        "ann_k": row.ann_k,
        "ann_recall": row.ann_recall,
        "ann_overlap": row.ann_overlap,
    }
    for kind in ("index_ms", "cold_ms", "warm_ms"):
        found = getattr(row, kind)
        cells |= {f"{kind}_{each}": None if found is None else getattr(found, each) for each in ("p50", "p95", "p99")}
    for name in measures:
        mean = row.measures.get(name, MeanValue(None, None, None, 0))
        shown = csv_text(name)
        cells |= {shown: mean.mean, f"{shown} low": mean.low, f"{shown} high": mean.high}
    cells |= {"build_seconds": row.build_seconds, "index_bytes": row.index_bytes, "vectors": row.vectors}
    cells |= {"cases": row.cases, "failures": row.failures}
    cells |= {name: None if when is None else when.isoformat() for name, when in (("started", row.started), ("ended", row.ended))}
    cells |= {
        name: None if against is None else getattr(against, name) for name in ("difference", "low", "high", "p_holm", "verdict")
    }
    cells |= {"non_inferior_p": None if against is None else against.non_inferior.p_holm}
    cells |= {"non_inferior": None if against is None else against.non_inferior.shown}
    cells |= {"on_frontier": row.on_frontier, "on_quality_frontier": row.on_quality_frontier}
    return cells | {"hosts": csv_text(", ".join(row.hosts))}


TEXTS: dict[str, Callable[[Sweep], str | Iterable[str]]] = {
    "json": to_json,
    "md": to_markdown,
    "html": to_html,
    "csv": to_csv,
    "txt": to_text,
}


def check_output(path: str) -> None:
    """Refuse, before any work is done, a file that could not be written."""
    suffix = Path(path).suffix.removeprefix(".").lower()
    if suffix not in (*TEXTS, *PICTURES):
        known = ", ".join(f".{each}" for each in (*TEXTS, *PICTURES))
        raise UsageError(f"{path}: a sweep is written as {known}; name a file that ends in one of them")
    if Path(path).is_dir():
        raise UsageError(f"{path} cannot be written: it is a folder; name a file in it")
    if suffix in PICTURES:
        from searchmark.reports.charts import lacking

        why = lacking()
        if why is not None:
            raise UsageError(f"{path} cannot be drawn: {why}")


def write_sweep(sweep: Sweep, path: str) -> None:
    """Write it in the format that the name of the file ends in, whole or not at all."""
    suffix = Path(path).suffix.removeprefix(".").lower()
    clean = harmless(sweep)
    if suffix in PICTURES:
        from searchmark.sweeps.picture import drawn_sweep

        with atomic_write(path) as file:
            file.write(drawn_sweep(clean, suffix))
    else:
        write_text(path, TEXTS[suffix](clean))
