"""What a program prints is read as its config says, and everything that goes wrong is an error with its text."""

from __future__ import annotations

import json
import os
import time
from math import nan
from pathlib import Path

import pytest

from searchmark import Changes, Corpus, Document, UsageError, load_corpus
from searchmark.agents.outside.process import CommandFailed
from searchmark.agents.outside.results import UnreadableAnswer
from tests.agents.outside.programs import agent, python, search


def printing(text: str, then: str = "") -> tuple[str, ...]:
    return python(f"import os, sys; sys.stdout.write({text!r}); sys.stdout.flush()\n{then}", "{query}")


@pytest.mark.parametrize(
    ("printed", "results", "files", "scores", "lines"),
    [
        ("a.py\nb c.py\n", {}, ["a.py", "b c.py"], None, None),
        ("a.py\r\n\r\nb.py", {}, ["a.py", "b.py"], None, None),
        ("a\u2028b\x0c.py\nb\x85.py\n", {}, ["a\u2028b\x0c.py", "b\x85.py"], None, None),
        ("", {}, [], None, None),
        ('\ufeff["a", {"id": "b", "score": 2}]', {"format": "json"}, ["a", "b"], [nan, 2.0], None),
        ('{"r": {"h": [{"n": "a", "s": 3, "l": 4}]}}', {"hits": "r.h", "id": "n", "score": "s", "first_line": "l"}, ["a"], [3.0], [(4, 4)]),
        ('{"id": "a", "score": 1}\n{"id": "b", "score": 0.5}\n', {"format": "jsonl"}, ["a", "b"], [1.0, 0.5], None),
        ("a.py:12: x\nb.py:7: y\n", {"pattern": r"^(?P<id>[^:]+):(?P<first>\d+)"}, ["a.py", "b.py"], None, [(12, 12), (7, 7)]),
        ("found 2\n1. a (0.5)\n", {"pattern": r"\d\. (?P<id>\w+) \((?P<score>.*)\)"}, ["a"], [0.5], None),
        ("No results.\n", {"nothing": "No results.*"}, [], None, None),
        ("No results.\r\n\r\nTry again.\r\n", {"nothing": r"No results\.|Try again\."}, [], None, None),
        ("Searched.\nNo results.\n", {"nothing": "^No results.*", "pattern": "^1. (?P<id>.*)"}, [], None, None),
        ('[{"id": "a", "text": "No results"}]', {"format": "json", "nothing": "No results"}, ["a"], None, None),
        ('{"id": "a", "text": "No results"}\n', {"format": "jsonl", "nothing": "No results"}, ["a"], None, None),
        ("a.py: No results\n", {"pattern": "^(?P<id>[^:]+):", "nothing": "No results"}, ["a.py"], None, None),
        ("a.py\r\nb.py\r\n", {"pattern": "^(?P<id>.*)$"}, ["a.py", "b.py"], None, None),
        ('"a"\r\n"b"\r\n', {"format": "jsonl"}, ["a", "b"], None, None),
        ('{"results": [], "error": null, "errors": []}', {"hits": "results"}, [], None, None),
        ('{"results": [], "error": "none"}', {"hits": "results", "error": "failure"}, [], None, None),
        ('{"results": ["a"], "errors": ["a warning"]}', {"hits": "results"}, ["a"], None, None),
    ],
)  # fmt: skip
def test_hits_are_read_as_the_config_says(printed, results, files, scores, lines) -> None:
    found = search(printing(printed), results=results)
    assert found.files == files
    assert (found.scores, found.lines) == (scores if scores is None else pytest.approx(scores, nan_ok=True), lines)


def test_names_of_files_may_be_any_bytes() -> None:
    found = search(python(r"import sys; sys.stdout.buffer.write(b'caf\xe9.py\n')", "{query}"))
    assert os.fsencode(found.files[0]) == b"caf\xe9.py"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("argv", "options", "reason"),
    [
        (printing("", "sys.exit('no index')"), {}, "ended with exit code 1: no index"),
        (printing("a.py\n", "sys.exit(3)"), {}, "ended with exit code 3: a.py"),
        (
            printing("", "sys.exit(1)"),
            {},
            "exit code 1, and said nothing; if that means that it found nothing, say so (nothing: [1])",
        ),
        (printing("", "sys.exit(2)"), {"nothing": (1,)}, "ended with exit code 2"),
        (printing("a.py\n", "os.kill(os.getpid(), 9)"), {}, "was ended by SIGKILL: a.py"),
        (printing("a.py\n", "os.kill(os.getpid(), 11)"), {}, "was ended by SIGSEGV"),
        (printing("", "sys.exit('begin' + 'x' * 9000 + 'the cause')"), {}, "xxxthe cause"),
        (printing("a.py\n" * 1000), {"max_output_bytes": 100}, "printed more than 100 bytes (max_output_bytes)"),
        (printing("", "while True: print('a')"), {"max_output_bytes": 100_000}, "printed more than 100000 bytes"),
        (printing('[{"id": "a"'), {"results": {"format": "json"}}, "the answer is not JSON"),
        (printing(""), {"results": {"format": "json"}}, "the answer is not JSON"),
        (printing('{"id": "a"}\nWARNING\n'), {"results": {"format": "jsonl"}}, "the answer is not JSON"),
        (printing('{"hits": null}'), {"results": {"hits": "hits"}}, "the answer has no list at 'hits'"),
        (printing('{"r": [], "error": "index missing"}'), {"results": {"hits": "r"}}, "no hits, and an error: '\"index missing\"'"),
        (printing('{"r": [], "errors": [7]}'), {"results": {"hits": "r"}}, "the answer has no hits, and an error: '[7]'"),
        (
            printing('{"id": "a"}\n{"error": "locked", "id": "b"}\n'),
            {"results": {"format": "jsonl", "error": "error"}},
            "the answer is an error: locked",
        ),
        (printing("id=\n"), {"results": {"pattern": "id=(?P<id>.*)"}}, "the pattern finds a line without an id: 'id='"),
        (printing("file\n"), {"results": {"pattern": "file(:(?P<id>.*))?"}}, "the pattern finds a line without an id: 'file'"),
        (
            printing("No results for q\n"),
            {"results": {"nothing": "No results"}},
            "let nothing fit the whole line, such as No results.*",
        ),
        (printing("No results\na.py\n"), {"results": {"nothing": "No results"}}, "has hits, and says that it found nothing"),
        (
            printing("", "raise RuntimeError('index corrupt')"),
            {"nothing": (1,)},
            "RuntimeError: index corrupt (nothing: [1] holds for a program that complains of nothing)",
        ),
        (
            printing("Error: index corrupt\n", "sys.exit(1)"),
            {"nothing": (1,)},
            "exit code 1, which means that it found nothing, and printed 'Error: index corrupt': if that is not a hit, say so",
        ),
        (
            printing("index corrupt\n", "sys.exit(1)"),
            {"nothing": (1,), "results": {"pattern": "(?P<id>x$)"}},
            "no line of the answer fits the pattern",
        ),
        (printing("nothing here\n"), {"results": {"pattern": "(?P<id>x)"}}, "no line of the answer fits the pattern"),
        (printing(""), {"folder": "/no/such/folder"}, "cannot be started in /no/such/folder, which is not a folder"),
    ],
)
def test_what_goes_wrong_is_an_error_with_its_text(argv, options, reason) -> None:
    with pytest.raises((CommandFailed, UnreadableAnswer)) as raised:
        search(argv, **options)
    assert reason in str(raised.value)
    assert len(str(raised.value)) < 500


def test_exit_codes_of_searches_and_of_those_that_found_nothing_are_known() -> None:
    assert search(printing("a.py\n", "sys.exit(7)"), success=(0, 7)).files == ["a.py"]
    assert search(printing("", "sys.exit(1)"), nothing=(1,)).files == []
    assert search(printing("a.py:0\n", "sys.exit(1)"), nothing=(1,), results={"nothing": ".*:0"}).files == []
    assert search(printing("[]", "sys.exit(1)"), nothing=(1,), results={"format": "json"}).files == []


@pytest.mark.parametrize("streams", [False, True])
@pytest.mark.parametrize("argv", [("rg", "-l", "-e", "{query}", "{corpus}"), ("git", "grep", "--no-index", "-l", "-e", "{query}")])
def test_real_tools_that_find_nothing_found_nothing(argv, streams, tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("words")
    made = agent(argv, nothing=(1,), folder="{corpus}", streams=streams)
    made.initialize(load_corpus(tmp_path))
    assert list(getattr(found := made.retrieve("zebra", 5), "files", found)) == []


def test_a_search_leaves_no_process_behind(tmp_path: Path) -> None:
    """A child in the background holds the output open and ignores signals; the search is over with its program."""
    over = f"import time; time.sleep(20); open({str(tmp_path / 'over')!r}, 'w')"
    child = f"import os, signal; signal.signal(15, signal.SIG_IGN); print(os.getpid(), flush=True); {over}"
    code = f"import subprocess, sys; p = subprocess.Popen([sys.executable, '-ISc', {child!r}], stdout=subprocess.PIPE); "
    code += f"print(int(p.stdout.readline())); subprocess.Popen([sys.executable, '-ISc', {over!r}])"
    found = search(python(code, "{query}"))
    assert is_gone(int(found.files[0]))
    assert not (tmp_path / "over").exists()  # the search has not waited for them


def test_a_search_that_fails_leaves_no_process_behind(tmp_path: Path) -> None:
    code = f"import os\nopen({str(tmp_path / 'pid')!r}, 'w').write(str(os.getpid()))\nwhile True: print('a', flush=True)"
    with pytest.raises(CommandFailed):
        search(python(code, "{query}"), max_output_bytes=1000)
    assert is_gone(int((tmp_path / "pid").read_text()))


def is_running(pid: int) -> bool:
    """Whether it is there and no zombie, which is waiting for a parent other than us."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except FileNotFoundError:
        return False


def is_gone(pid: int) -> bool:
    """Whether it ends soon: a process that was killed needs a moment for that."""
    deadline = time.monotonic() + 30
    while is_running(pid) and time.monotonic() < deadline:
        time.sleep(0.001)
    return not is_running(pid)


def test_a_program_that_closes_its_output_is_waited_for() -> None:
    code = "import os, sys, time; print('a', flush=True); os.close(1); os.close(2); time.sleep(0.1); os._exit(5)"
    with pytest.raises(CommandFailed, match="exit code 5"):
        search(python(code, "{query}"))


def test_where_the_system_cannot_tell_when_a_program_ends_it_is_looked_at(monkeypatch) -> None:
    monkeypatch.delattr(os, "pidfd_open", raising=False)
    code = (
        "import subprocess, sys; print('a', flush=True); subprocess.Popen([sys.executable, '-ISc', 'import time; time.sleep(100)'])"
    )
    assert search(python(code, "{query}")).files == ["a"]
    assert search(python("print('b')", "{query}")).files == ["b"]
    with pytest.raises(CommandFailed, match="exit code 5"):
        search(python("import os; os.close(1); os.close(2); os._exit(5)", "{query}"))


class TestCorpus:
    LIST = "import os, sys; print(os.getcwd()); print(sys.argv[2])"

    def test_a_folder_is_given_as_an_absolute_path_and_the_program_is_started_where_the_user_is(
        self, tmp_path, monkeypatch
    ) -> None:
        (tmp_path / "docs").mkdir()
        (tmp_path / "docs" / "a.md").write_text("a")
        monkeypatch.chdir(tmp_path)
        made = agent(python(self.LIST, "{query}", "{corpus}/x"))
        made.initialize(load_corpus("docs"))
        assert made.needs_corpus
        assert made.retrieve("q", 5).files == [str(tmp_path), f"{tmp_path}/docs/x"]

    def test_a_file_of_documents_is_given_as_it_is(self, tmp_path: Path, monkeypatch) -> None:
        monkeypatch.chdir(tmp_path)
        Path("docs.jsonl").write_text('{"id": "a", "text": "a"}\n')
        made = agent(python(self.LIST, "{query}", "{corpus}"))
        made.initialize(load_corpus("docs.jsonl"))
        assert made.retrieve("q", 5).files == [str(tmp_path), str(tmp_path / "docs.jsonl")]

    def test_documents_in_memory_cannot_be_given(self) -> None:
        with pytest.raises(UsageError, match=r"the program gets {corpus}, and 'mine' is neither a folder nor a file"):
            agent(python(self.LIST, "{query}", "{corpus}")).initialize(Corpus.of("mine", [Document("a", "a")]))

    def test_a_program_that_is_not_told_of_a_corpus_needs_none(self, tmp_path: Path, monkeypatch) -> None:
        monkeypatch.chdir(tmp_path)
        made = agent(python(self.LIST, "{query}", "x"))
        made.start()
        assert not made.needs_corpus
        assert made.retrieve("q", 1).files[0] == str(tmp_path)

    @pytest.mark.parametrize("where", [{"stdin": "{corpus}"}, {"folder": "{corpus}/sub"}])
    def test_it_may_be_told_in_its_input_or_by_where_it_is_started(self, where: dict[str, str], tmp_path: Path) -> None:
        (tmp_path / "sub").mkdir()
        (tmp_path / "sub" / "a.md").write_text("a")
        made = agent(python("import os, sys; print(sys.stdin.read() or os.getcwd())", "{query}"), **where)
        made.initialize(load_corpus(tmp_path))
        assert made.needs_corpus
        assert made.retrieve("q", 1).files == [str(tmp_path) if "stdin" in where else str(tmp_path / "sub")]

    def test_it_follows_the_corpus_to_its_next_state(self, tmp_path: Path) -> None:
        for name in ("one", "two"):
            (tmp_path / name).mkdir()
            (tmp_path / name / "a.md").write_text("a")
        made = agent(python(self.LIST, "{query}", "{corpus}"))
        made.initialize(load_corpus(tmp_path / "one"))
        assert made.update(Changes(load_corpus(tmp_path / "two"), (), ()))
        assert made.retrieve("q", 1).files[1] == str(tmp_path / "two")


class TestStart:
    def test_the_start_is_the_time_until_the_program_was_executed(self) -> None:
        found = search(python("print('a')", "{query}"))
        assert found.usage.start_ms is not None
        assert 0 < found.usage.start_ms < 1000

    def test_the_start_is_what_a_start_for_nothing_takes(self) -> None:
        """Python takes longer to start than to be executed."""
        slow = python("import time; time.sleep(0.3)", "{query}")
        made = agent(slow, startup=python("print('Tool 1.2\\nmore')"))
        assert made.retrieve("a", 1).usage.start_ms == made._startup.ms
        assert made.describe() == {
            "program": slow[0],
            "argv": list(slow),
            "version": "Tool 1.2",
            "format": "lines",
            "start": f"for every query; its time is the median of {' '.join(made._config.startup)}, where a search took longer",
        }

    @pytest.mark.parametrize("streams", [False, True])
    def test_a_start_that_took_longer_than_the_search_is_not_stated(self, streams: bool) -> None:
        made = agent(("/bin/echo", "{query}"), startup=python("import time; time.sleep(0.4)"), streams=streams)
        found = made.retrieve("a", 1)
        assert [hit.id for hit in found] == ["a"] if streams else found.files == ["a"]
        assert found.usage.start_ms is None
        assert found.metadata["start"].endswith("ms, which is more than this search took")

    def test_a_startup_that_does_not_end_is_ended_and_named(self, monkeypatch) -> None:
        monkeypatch.setattr("searchmark.agents.outside.command.PATIENCE", 0.2)
        with pytest.raises(
            CommandFailed, match=r"startup has failed: 'python.*' did not end within 0.2 s; give one that only starts"
        ):
            agent(python("", "{query}"), startup=python("import os, time; os.close(1); os.close(2); time.sleep(100)"))

    def test_a_startup_that_fails_is_said_before_any_search(self) -> None:
        with pytest.raises(CommandFailed, match=r"startup has failed: python.* ended with exit code 1: no licence"):
            agent(python("", "{query}"), startup=python("import sys; sys.exit('no licence')"))


RESULTS = {"results": [{"path": "a.py"}]}


@pytest.mark.parametrize("streams", [False, True])
@pytest.mark.parametrize(
    ("printed", "advice"),
    [
        (json.dumps(RESULTS), "results: {hits: results}"),
        (json.dumps(RESULTS, indent=2), "results: {hits: results}"),
        ("searching\n" + json.dumps(RESULTS), "results: {hits: results}"),
        (json.dumps(["a.py", "b.py"]), "results: {format: json}"),
        (json.dumps({"path": "a.py"}) + "\n" + json.dumps({"path": "b.py"}), "results: {format: jsonl}"),
        ("[]", "results: {format: json}"),
    ],
)
def test_json_that_nothing_says_how_to_read_is_an_error_with_what_to_write(printed: str, advice: str, streams: bool) -> None:
    program = agent(printing(printed), streams=streams)
    with pytest.raises(UnreadableAnswer) as caught:
        list(getattr(found := program.retrieve("q", 9), "files", found))
    assert caught.value.sentence.startswith(f"the answer is JSON and not a name per line: write {advice}, or results: ")


@pytest.mark.parametrize("path", ["[id].tsx", "[[...slug]].tsx", "{a,b}.txt", "[a", "{x}"])
def test_a_path_that_begins_like_json_is_a_path(path: str) -> None:
    assert search(printing(path)).files == [path]


def test_json_is_a_line_where_the_config_says_lines() -> None:
    assert search(printing("[1]"), results={"format": "lines"}).files == ["[1]"]
