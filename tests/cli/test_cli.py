"""The command line: exit codes that scripts rely on, and one clear sentence for everything that goes wrong."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from searchmark import Answer, Hit, Run, save_run
from searchmark.cli.main import VERBS, main

QRELS = "q1 0 a 1\nq2 0 b 1\n"
GOOD_RUN = "q1 Q0 a 1 1.0 t\nq2 Q0 b 1 1.0 t\n"


@pytest.fixture
def inputs(file) -> list[str]:
    return ["evaluate", "--gold-set", str(file("qrels.txt", QRELS)), "--run", str(file("good.txt", GOOD_RUN))]


def run_with(tmp_path: Path, *answers: Answer) -> str:
    save_run(Run.from_answers("agent", answers), tmp_path / "run.jsonl")
    return str(tmp_path / "run.jsonl")


def started(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "searchmark", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, env={**os.environ, **environment})


class TestExitCodes:
    def test_0_pass(self, inputs) -> None:
        assert main(inputs) == 0
        assert main([*inputs, "--fail-under", "RR=1"]) == 0

    def test_1_quality_gate_failed(self, inputs, file, capsys) -> None:
        bad = str(file("bad.txt", "q1 Q0 x 1 1.0 t\nq2 Q0 b 1 1.0 t\n"))
        assert main([*inputs[:3], "--run", bad, "-m", "nDCG@10", "--fail-under", "MRR=0.8"]) == 1
        assert "gate failed: Expected MRR (RR) >= 0.8, but got 0.5\n  q1: expected a; got x\n" in capsys.readouterr().out

    def test_2_result_not_trustworthy(self, inputs, tmp_path, capsys) -> None:
        failing = run_with(tmp_path, Answer("q1", "ok", (Hit("a", 1),)), Answer("q2", "error"))
        assert main([*inputs[:3], "--run", failing]) == 2
        assert "untrusted: 1 of 2 cases ended in an error" in capsys.readouterr().out
        assert main([*inputs[:3], "--run", failing, "--fail-under", "RR=0.9"]) == 2

    def test_2_for_an_undefined_threshold(self, inputs) -> None:
        assert main([*inputs, "-m", "RR", "--fail-under", "Abstain=0.5"]) == 2

    def test_1_for_a_formula_that_is_gated_by_its_name(self, inputs) -> None:
        formula = ["-m", "mine = 0.5*P@1 + 0.5*RR"]
        assert main([*inputs, *formula, "--fail-under", "mine=1"]) == 0
        assert main([*inputs, *formula, "--fail-under", "mine=1.1"]) == 1

    def test_3_internal_error_is_one_line(self, inputs, monkeypatch, capsys) -> None:
        monkeypatch.setattr("searchmark.experiments.evaluation.match_hits", lambda *_: 1 / 0)
        assert main(inputs) == 3
        error = capsys.readouterr().err
        assert error.startswith("searchmark: internal error: ZeroDivisionError: division by zero (set SEARCHMARK_DEBUG=1")
        assert error.count("\n") == 1

    def test_3_shows_the_traceback_when_asked(self, inputs, monkeypatch) -> None:
        monkeypatch.setattr("searchmark.experiments.evaluation.match_hits", lambda *_: 1 / 0)
        monkeypatch.setenv("SEARCHMARK_DEBUG", "1")
        with pytest.raises(ZeroDivisionError):
            main(inputs)

    @pytest.mark.parametrize(
        ("arguments", "complaint"),
        [
            (["nonsense"], "No such command 'nonsense'"),
            (["evaluate"], "nothing says which suite: name it with --gold-set"),
            (["evaluate", "--colour"], "No such option"),
            (["--colour"], "No such option"),
            (["evaluate", "--gold-set", "nowhere", "--run", "nowhere"], "nowhere: cannot be read: No such file or directory"),
            (["measures", "nDGC"], "there is no measure 'nDGC'; did you mean nDCG"),
        ],
    )
    def test_4_usage_error(self, arguments: list[str], complaint: str, capsys) -> None:
        assert main(arguments) == 4
        assert complaint in capsys.readouterr().err

    @pytest.mark.parametrize(
        ("more", "complaint"),
        [
            (["-m", "nDCG@0"], "the cutoff after @ must be a whole number from 1"),
            (["--fail-under", "RR"], "threshold 'RR' cannot be read"),
            (["--by", "colour"], "no case of the suite 'qrels' has a field 'colour'"),
            (["-o", "report.pdf"], "the extension must be one of"),
            (["-o", "/dev/null/report.json"], "cannot be written"),
            (["--format", "native"], "is not a mapping with 'schema_version'"),
            (["--run-format", "json"], "not valid JSON"),
            (["--topics", "nowhere"], "nowhere: cannot be read"),
        ],
    )
    def test_4_for_what_an_option_says(self, inputs, more: list[str], complaint: str, capsys) -> None:
        assert main([*inputs, *more]) == 4
        captured = capsys.readouterr()
        assert complaint in captured.err
        assert captured.out == ""

    def test_5_nothing_evaluated(self, inputs, file, capsys) -> None:
        other = str(file("other.txt", "x1 Q0 a 1 1.0 t\n"))
        assert main([*inputs[:3], "--run", other]) == 5
        assert "answers no case of the suite" in capsys.readouterr().err

    def test_4_for_a_suite_without_cases(self, inputs, file, capsys) -> None:
        empty = str(file("empty.json", '{"schema_version": 1, "cases": []}'))
        assert main(["evaluate", "--gold-set", empty, *inputs[3:]]) == 4
        assert "holds no cases" in capsys.readouterr().err

    def test_5_when_every_value_is_undefined(self, inputs) -> None:
        assert main([*inputs, "-m", "Abstain"]) == 5

    def test_130_interrupted(self, inputs, monkeypatch, capsys) -> None:
        def interrupt(*_: object) -> None:
            raise KeyboardInterrupt

        monkeypatch.setattr("searchmark.experiments.evaluation.match_hits", interrupt)
        assert main(inputs) == 130
        assert capsys.readouterr().err.strip() == "searchmark: interrupted"

    @pytest.mark.skipif(sys.platform == "win32", reason="needs POSIX signals")
    def test_130_for_a_real_signal(self, inputs) -> None:
        """The work says when it has begun and then waits for ever, so that the signal comes in its middle."""
        # A test runner in the background may ignore the signal and hand that down; a terminal does not.
        code = (
            "import signal, sys, time; signal.signal(signal.SIGINT, signal.default_int_handler)\n"
            "import searchmark.experiments.evaluation as experiments\n"
            "experiments.match_hits = lambda *_: (print('begun', flush=True), time.sleep(600))\n"
            "from searchmark.cli.main import main; sys.exit(main())"
        )
        process = subprocess.Popen([sys.executable, "-c", code, *inputs], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        with process:
            assert process.stdout.readline() == "begun\n"
            process.send_signal(signal.SIGINT)
            _, error = process.communicate(timeout=60)
        assert process.returncode == 130
        assert error.strip() == "searchmark: interrupted"

    def test_130_for_a_signal_that_meets_code_which_cannot_raise_it(self, inputs) -> None:
        """Python would print a traceback, and go on as if nothing had happened."""
        code = (
            "import signal, sys, time; signal.signal(signal.SIGINT, signal.default_int_handler)\n"
            "class Freed:\n"
            "    def __del__(self): raise KeyboardInterrupt\n"
            "import searchmark.experiments.evaluation as experiments\n"
            "experiments.match_hits = lambda *_: (Freed() is None, [time.sleep(0.1) for _ in range(600)])\n"
            "from searchmark.cli.main import main; sys.exit(main())"
        )
        done = subprocess.run([sys.executable, "-c", code, *inputs], capture_output=True, text=True, timeout=60, check=False)
        assert (done.returncode, done.stderr.strip()) == (130, "searchmark: interrupted")

    @pytest.mark.skipif(sys.platform == "win32", reason="needs named pipes")
    def test_4_for_a_pipe_that_can_be_read_only_once(self, inputs, tmp_path, capsys) -> None:
        os.mkfifo(tmp_path / "pipe")
        assert main([*inputs[:3], "--run", str(tmp_path / "pipe")]) == 4
        assert "save what comes through a pipe to a file first" in capsys.readouterr().err

    def test_the_process_exits_with_the_code(self) -> None:
        assert started("nonsense").returncode == 4
        assert started("--version").returncode == 0


class TestCorpus:
    def test_globs_are_expanded_and_oddities_reported(self, file, capsys) -> None:
        suite = file("s.json", '{"schema_version": 1, "cases": [{"id": "q", "judgments": [{"target": "*.py", "match": "glob"}]}]}')
        run = file("r.json", '{"q": ["a.py", "invented"]}')
        corpus = file("c.csv", "path,body\na.py,x\nb.py,\nb.py,y\n")
        arguments = ["--corpus", str(corpus), "--map", "id=path", "--map", "text=body", "-m", "R", "-o", "-"]
        assert main(["evaluate", "--gold-set", str(suite), "--run", str(run), *arguments]) == 0
        report = json.loads(capsys.readouterr().out)
        agent = report["agents"]["r"]
        assert agent["measures"]["R"]["mean"] == 0.5
        assert agent["dropped"]["invalid"] == 1
        assert len(report["suite"]["hashes"]["corpus"]) == 64
        assert "documents of the corpus without any text: 1" in [note["message"] for note in report["audit"]]

    def test_what_a_suite_brings_along_is_its_corpus(self, file, capsys) -> None:
        run = file("r.json", '{"close_and_far": ["bread", "invented"]}')
        suite = Path(__file__).parents[2] / "examples/formats/fixtures.json"
        assert main(["evaluate", "--gold-set", str(suite), "--run", str(run), "-o", "-"]) == 0
        assert json.loads(capsys.readouterr().out)["agents"]["r"]["dropped"]["invalid"] == 1

    def test_a_mapping_without_a_corpus_is_a_usage_error(self, inputs) -> None:
        assert main([*inputs, "--map", "id=x"]) == 4

    def test_a_bad_mapping_is_a_usage_error(self, inputs, capsys) -> None:
        assert main([*inputs, "--corpus", "x.csv", "--map", "colour=red"]) == 4
        assert "mapping 'colour=red': a corpus has no 'colour'" in capsys.readouterr().err


class TestOutputs:
    def test_the_format_follows_the_extension(self, inputs, tmp_path) -> None:
        outputs = [tmp_path / name for name in ("a.json", "a.md", "a.txt")]
        assert main([*inputs, *(part for path in outputs for part in ("-o", str(path)))]) == 0
        assert json.loads(outputs[0].read_text())["agents"]["good"]["measures"]["RR"]["mean"] == 1.0
        assert outputs[1].read_text().startswith("# qrels: search quality")
        assert outputs[2].read_text().startswith("good on qrels")

    def test_a_directory_receives_every_format(self, inputs, tmp_path) -> None:
        assert main([*inputs, "--output", str(tmp_path / "results/")]) == 0
        assert sorted(os.listdir(tmp_path / "results")) == ["report.json", "report.md"]

    def test_a_dash_gives_clean_json_on_stdout(self, inputs, tmp_path, capsys) -> None:
        assert main([*inputs, "-o", "-", "-o", str(tmp_path / "a.json")]) == 0
        captured = capsys.readouterr()
        assert captured.out == (tmp_path / "a.json").read_text()
        assert captured.err == f"written: {tmp_path / 'a.json'}\n"

    def test_an_output_that_cannot_be_written_is_refused_before_the_work(self, inputs, monkeypatch) -> None:
        monkeypatch.setattr("searchmark.experiments.evaluation.match_hits", lambda *_: pytest.fail("work was done"))
        assert main([*inputs, "-o", "report.pdf"]) == 4

    @pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
    def test_a_full_disk_is_one_sentence(self, inputs) -> None:
        with Path("/dev/full").open("w") as full:
            process = subprocess.run(
                [sys.executable, "-m", "searchmark", *inputs], stdout=full, stderr=subprocess.PIPE, text=True, check=False
            )
        assert process.returncode == 4
        assert process.stderr.strip() == "searchmark: the output cannot be written: No space left on device"

    def test_a_reader_that_has_seen_enough_is_no_error(self) -> None:
        command = f"{sys.executable} -m searchmark measures | head -n 1; exit ${{PIPESTATUS[0]}}"
        process = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False)
        assert (process.returncode, process.stderr) == (0, "")

    def test_a_closed_pipe_does_not_hide_a_failed_gate(self, inputs) -> None:
        command = [sys.executable, "-m", "searchmark", *inputs, "--fail-under", "RR=2"]
        reader, writer = os.pipe()
        os.close(reader)
        process = subprocess.run(command, stdout=writer, stderr=subprocess.PIPE, text=True, check=False)
        os.close(writer)
        assert process.returncode == 1
        assert process.stderr.startswith("next: ")
        assert process.stderr.count("\n") == 1

    def test_an_encoding_without_typography_is_served_too(self, inputs) -> None:
        command = [sys.executable, "-m", "searchmark", *inputs, "--fail-under", "RR=2"]
        process = subprocess.run(command, capture_output=True, check=False, env={**os.environ, "PYTHONIOENCODING": "cp1252"})
        assert process.returncode == 1
        assert process.stderr.startswith(b"next: ")
        assert process.stderr.count(b"\n") == 1

    def test_a_closed_stdout_is_no_error(self, inputs, tmp_path) -> None:
        command = ["bash", "-c", f"{sys.executable} -m searchmark {' '.join(inputs)} -o {tmp_path}/a.json >&-"]
        process = subprocess.run(command, capture_output=True, text=True, check=False)
        assert process.returncode == 0
        assert (tmp_path / "a.json").exists()

    def test_help_for_a_reader_who_has_seen_enough_is_no_failed_gate(self) -> None:
        reader, writer = os.pipe()
        os.close(reader)
        process = subprocess.run([sys.executable, "-m", "searchmark", "--help"], stdout=writer, check=False)
        os.close(writer)
        assert process.returncode == 0

    def test_no_colour_off_a_terminal(self, inputs) -> None:
        assert "\x1b" not in started(*inputs).stdout


class TestHelp:
    @pytest.mark.parametrize("verb", VERBS)
    def test_the_list_of_verbs_tells_their_own_first_line(self, verb: str) -> None:
        from importlib import import_module

        command = import_module(f"searchmark.cli.verbs.{verb}").command
        assert command.get_short_help_str(limit=200) == VERBS[verb]

    def test_without_arguments_it_shows_help_and_is_a_usage_error(self, capsys) -> None:
        assert main([]) == 4
        assert "Usage: searchmark" in capsys.readouterr().err

    def test_metrics_is_an_alias_of_measures(self, capsys) -> None:
        assert main(["metrics", "MRR"]) == 0
        assert capsys.readouterr().out.startswith("RR(rel=, judged_only=)@k\n")

    def test_measures_prints_the_formula_of_a_measure_that_is_made_of_others(self, capsys) -> None:
        assert main(["measures", "Relevance", "P"]) == 0
        entries = capsys.readouterr().out.split("\n\n")
        assert entries[0].startswith("Relevance\n  0.4*P@5 + 0.3*R@5 + 0.3*RR@5\n")
        assert [entry.partition("(")[0].strip() for entry in entries[1:]] == ["P", "R", "RR"]

    def test_measures_prints_every_definition_with_its_rules(self, capsys) -> None:
        from searchmark.measures.catalogue import DEFINITIONS
        from searchmark.measures.grammar import SETS

        assert main(["measures"]) == 0
        entries = capsys.readouterr().out.strip().split("\n\n")
        assert len(entries) == 1 + len(DEFINITIONS) + len(SETS)
        for entry in entries[1 : 1 + len(DEFINITIONS)]:
            assert all(f"\n  {rule}" in entry for rule in ("range ", "ties ", "empty ", "missing "))
            assert ("higher is better" in entry) != ("not how good it is" in entry)
        assert all("  a set of " in entry for entry in entries[1 + len(DEFINITIONS) :])
