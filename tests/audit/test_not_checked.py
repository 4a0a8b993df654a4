"""What an audit had to leave out is said, and tables are named that exist."""

from __future__ import annotations

from pathlib import Path

import pytest

from searchmark import Run, audit_suite
from searchmark.audit.check import all_kinds
from searchmark.audit.full import TABLES
from searchmark.cli.main import main
from tests.audit.clean import MEASURES, clean
from tests.audit.mutations.gates import with_gates

QUICKSTART = Path(__file__).parents[2] / "examples" / "quickstart"


@pytest.mark.slow
def test_what_is_lacking_is_said() -> None:
    made = with_gates(clean(), thresholds={"RR": 0.5})
    suite, corpus = made.subject().suite, made.subject().corpus
    runs = [Run.from_answers(name, answers) for name, answers in made.answers.items()]
    assert audit_suite(suite).lacking == ("corpus", "runs", "gate")
    assert audit_suite(suite, corpus, runs[:1], MEASURES).lacking == ("second_run", "gate")
    assert audit_suite(suite, corpus, runs, MEASURES, rules=made.rules).lacking == ()


def test_the_second_line_says_what_was_not_checked(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["audit", str(QUICKSTART / "suite.yaml")]) == 0
    second = capsys.readouterr().out.splitlines()[1]
    assert second == "not checked, for lack of: a corpus (--corpus), runs (--run), a gate (--config)"


def test_queries_without_texts_are_said_to_be_lacking(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    qrels = tmp_path / "qrels.txt"
    qrels.write_text("q1 0 a 1\nq1 0 b 0\nq2 0 c 1\n")
    assert main(["audit", str(qrels)]) == 0
    assert "for lack of: the texts of queries (--topics), a corpus" in capsys.readouterr().out


def test_every_table_that_a_kind_refers_to_is_made() -> None:
    makers = " ".join(Path(table.__code__.co_filename).read_text() for table in TABLES)
    tables = {kind.table for kind in all_kinds().values()} - {None, "claims"}
    assert len(tables) > 1
    assert [table for table in tables if f'AuditTable("{table}"' not in makers] == []
