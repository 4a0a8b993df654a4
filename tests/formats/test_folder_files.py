"""Which files of a folder are documents: nothing of the suite, of Searchmark, of tools, or that Git ignores."""

from __future__ import annotations

import json
import os
import pickle
import subprocess
import sys
from pathlib import Path

import pytest

from searchmark import NothingEvaluated, UsageError, load_corpus
from searchmark.config.inputs import CorpusInputSettings, FileSettings
from searchmark.formats.corpora.folder import list_folder
from searchmark.formats.corpora.locations import Folder, location_from_plain
from searchmark.formats.corpora.source import FolderListing, SkippedFiles
from tests.support.small_histories import git

FILES = {
    "docs/a.md": "how to install",
    "docs/b.md": "how to log in",
    "src/app.py": "print()",
    "tests/test_app.py": "def test(): pass",
    "build/out.txt": "built",
    "app.log": "log",
    "node_modules/x/README.md": "package",
    "web/node_modules/y.js": "package",
    "env/pyvenv.cfg": "home = /usr/bin",
    "env/lib/copy.md": "copy",
    "src/__pycache__/app.txt": "cache",
    ".gitignore": "build/\n*.log\n",
}
DOCUMENTS = {".gitignore", "docs/a.md", "docs/b.md", "src/app.py", "tests/test_app.py"}


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    for name, content in FILES.items():
        write(folder / name, content)
    git(tmp_path, "init", "-q", str(folder))
    return folder


def write(path: Path, content: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content)


def ids(folder: Path, *never: Path, **choice: object) -> set[str]:
    return {document.id for document in load_corpus(folder, files=FileSettings(**choice), never=never)}  # type: ignore[arg-type]  # a test's shorthand


def test_what_git_ignores_and_what_belongs_to_tools_is_left_out_and_counted(project: Path) -> None:
    survey = load_corpus(project).survey
    assert survey.ids == DOCUMENTS
    assert survey.files is not None
    assert survey.files.left_out == (
        SkippedFiles("ignored", 2, ("build/", "app.log")),
        SkippedFiles("tools", 4, ("env/", "node_modules/", "src/__pycache__/")),
    )


def test_no_ignore_brings_all_of_it_back_and_never_git_or_our_folder(project: Path) -> None:
    write(project / ".searchmark" / "run.txt", "ours")
    write(project / "sub" / ".git", "gitdir: elsewhere")
    assert ids(project, ignore=False) == set(FILES)


def test_a_file_under_version_control_is_not_ignored(project: Path) -> None:
    git(project, "add", "--force", "app.log")
    assert "app.log" in ids(project)


def test_a_work_tree_inside_has_rules_of_its_own(project: Path) -> None:
    write(project / "sub" / "kept.md", "kept")
    write(project / "sub" / "left.tmp", "left")
    write(project / "sub" / ".gitignore", "*.tmp\n")
    git(project, "init", "-q", "sub")
    assert {"sub/kept.md", "sub/.gitignore"} <= ids(project)
    assert "sub/left.tmp" not in ids(project)


def test_a_folder_below_a_work_tree_follows_its_rules_and_an_ignored_one_that_is_named_is_searched(project: Path) -> None:
    write(project / "docs" / "more.log", "log")
    assert ids(project / "docs") == {"a.md", "b.md"}
    assert ids(project / "build") == {"out.txt"}
    write(project / "build" / "deep" / "x.txt", "x")
    assert ids(project / "build" / "deep") == {"x.txt"}


def test_the_rules_of_a_user_are_not_asked(project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path / "home" / "git" / "ignore", "*.md\n")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "home"))
    assert ids(project) == DOCUMENTS


def test_without_git_the_rest_is_left_out_and_the_reason_is_kept(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nonexistent")
    found = list_folder(project, FileSettings())
    assert found.problems == ("git is not on the PATH; install it (version 2.36 or newer)",)
    assert ids(project) == {*DOCUMENTS, "app.log", "build/out.txt"}


def test_git_that_was_waited_for_in_vain_is_not_asked_again(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a thousand work trees whose rules are pipes, one costs its time."""
    (project / ".gitignore").unlink()
    for folder in (project, project / "a", project / "b"):
        git(project, "init", "-q", str(folder))
        os.mkfifo(folder / ".gitignore")
    monkeypatch.setenv("SEARCHMARK_GIT_SECONDS", "0.1")
    (problem,) = list_folder(project, FileSettings()).problems
    assert "git ls-files said nothing for 0.1 s" in problem


def test_of_many_damaged_work_trees_some_are_named(tmp_path: Path) -> None:
    for number in range(5):
        write(tmp_path / f"r{number}" / ".git" / "HEAD", "nothing")
    *named, last = list_folder(tmp_path, FileSettings()).problems
    assert [problem[:36] for problem in named] == [f"git cannot tell what it ignores in r{number}"[:36] for number in range(3)]
    assert last == "git cannot tell what it ignores in 2 more work trees"


def test_git_is_not_asked_about_a_folder_that_is_no_work_tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nonexistent")
    write(tmp_path / "docs" / "a.md", "a")
    assert list_folder(tmp_path / "docs", FileSettings()) == FolderListing()


def test_the_suite_is_not_a_document_whatever_is_ignored(project: Path) -> None:
    write(project / "suite.csv", "query,target")
    write(project / "beir" / "queries.jsonl", "{}")
    never = (project / "suite.csv", project / "beir", project, project.parent)
    for ignore in (True, False):
        found = ids(project, *never, ignore=ignore)
        assert found >= DOCUMENTS
        assert not found & {"suite.csv", "beir/queries.jsonl"}


OURS = {
    "run.jsonl": '{"schema_version": 1, "record": "run", "label": {}}\n',
    "journal.jsonl": '{"schema_version":2,"record":"journal","run_id":"x"}\n',
    "report.json": '{\n "schema_version": 1,\n "suite": {\n  "name": "quickstart"}}',
    "suite.json": '{"schema_version": 1, "name": "a \\" b", "kind": "retrieval", "cases": []}',
    "junit.xml": '<?xml version="1.0" encoding="UTF-8"?>\n<testsuites name="searchmark" tests="1">',
    "report.md": "# quickstart: search quality\n\n## Summary\n",
}
NOT_OURS = {
    "manifest.json": '{"schema_version": 1, "name": "theirs", "version": "1.0"}',
    "note.md": "# Search quality\n\n## Summary\n",
    "junit.xml": '<?xml version="1.0"?>\n<testsuites name="pytest">',
    "config.jsonl": '{"record": "run"}',
}


@pytest.mark.parametrize("name", OURS)
def test_what_this_program_writes_is_known_by_its_beginning(project: Path, name: str) -> None:
    write(project / "docs" / f"renamed-{name}", OURS[name])
    assert ids(project, ignore=False) == set(FILES)


@pytest.mark.parametrize("name", NOT_OURS)
def test_what_others_write_is_a_document(project: Path, name: str) -> None:
    write(project / "docs" / name, NOT_OURS[name])
    assert f"docs/{name}" in ids(project)


@pytest.mark.parametrize(
    ("choice", "expected"),
    [
        ({"include": ("docs/**",)}, {"docs/a.md", "docs/b.md"}),
        ({"include": ("docs/",)}, {"docs/a.md", "docs/b.md"}),
        ({"include": ("docs",), "exclude": ("docs/b.md",)}, {"docs/a.md"}),
        ({"exclude": ("tests", "./docs", "sr")}, {".gitignore", "src/app.py"}),
        ({"include": ("*.md", "*.py"), "exclude": ("tests/**", "b.*")}, {"docs/a.md", "src/app.py"}),
        ({"kinds": ("code",)}, {"src/app.py"}),
        ({"kinds": ("test", "doc"), "exclude": ("**/a.md",)}, {"docs/b.md", "tests/test_app.py"}),
    ],
)
def test_files_are_chosen_by_globs_and_kinds(project: Path, choice: dict[str, tuple[str, ...]], expected: set[str]) -> None:
    assert ids(project, **choice) == expected


def test_a_choice_that_leaves_nothing_says_what_it_left_out(project: Path) -> None:
    with pytest.raises(
        NothingEvaluated, match=r"holds no documents: left out are 2 that Git ignores, .*; 5 by include.*, like '\.gitignore'"
    ):
        _ = load_corpus(project, files=FileSettings(include=("doc/**",))).survey


def test_a_folder_of_files_that_hold_no_text_says_so(tmp_path: Path) -> None:
    write(tmp_path / "data" / "train.bin", "a\0b")
    with pytest.raises(NothingEvaluated, match="holds no documents: left out are 1 that hold no text"):
        _ = load_corpus(tmp_path).survey


def test_the_file_that_output_goes_to_is_not_a_document(project: Path) -> None:
    ask = f"from searchmark import load_corpus; print(sorted(load_corpus({str(project)!r}).survey.ids))"
    with (project / "out.txt").open("w") as out:
        subprocess.run([sys.executable, "-c", ask], stdout=out, check=True)
    assert (project / "out.txt").read_text() == f"{sorted(DOCUMENTS)}\n"


@pytest.mark.parametrize(
    ("named", "told"), [("beir", "beir holds a collection, read from corpus.jsonl"), ("c.csv", "c.csv is a file")]
)
def test_files_of_what_holds_documents_in_one_cannot_be_chosen(tmp_path: Path, named: str, told: str) -> None:
    write(tmp_path / "beir" / "corpus.jsonl", '{"_id": "1", "text": "a"}\n')
    write(tmp_path / "c.csv", "id,text\n1,a\n")
    for refused in (load_corpus, lambda path, files: Folder.found("x", path, CorpusInputSettings(files=files))):
        with pytest.raises(UsageError, match=f"choose files of a folder, and .*{told}; leave them out"):
            refused(tmp_path / named, files=FileSettings(include=("*.md",)))


def test_a_glob_that_cannot_be_is_refused(project: Path) -> None:
    with pytest.raises(UsageError, match="is not a glob"):
        load_corpus(project, files=FileSettings(include=("{1..3}",)))


def test_why_a_path_is_not_a_document(project: Path) -> None:
    files = list_folder(project, FileSettings(exclude=("b.md",)), [project / "src" / "app.py"])
    assert {
        path: files.reason(path) for path in ("docs/a.md", "docs/b.md", "build/x/y", "env/lib/copy.md", "src/app.py", ".git/x")
    } == {
        "docs/a.md": None,
        "docs/b.md": "chosen",
        "build/x/y": "ignored",
        "env/lib/copy.md": "tools",
        "src/app.py": "ours",
        ".git/x": "ignored",
    }


def test_another_process_is_told_the_outcome_and_asks_no_git(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    choice = CorpusInputSettings(str(project), files=FileSettings(exclude=("b.md",)), never=(project / "src" / "app.py",))
    location = Folder.found("project", project, choice)
    sent = location_from_plain(json.loads(json.dumps(location.to_plain())))
    corpus = pickle.loads(pickle.dumps(load_corpus(project, files=choice.files, never=choice.never)))  # noqa: S301  # our own
    monkeypatch.setenv("PATH", "/nonexistent")
    write(project / "build" / "later.txt", "in a folder that is left out")
    assert sent == location
    assert {each.id for each in sent.open()} == {each.id for each in corpus} == DOCUMENTS - {"docs/b.md", "src/app.py"}  # type: ignore[union-attr]  # a folder opens


def test_other_documents_are_another_digest(project: Path) -> None:
    digests = {load_corpus(project, files=files).survey.digest for files in (FileSettings(), FileSettings(kinds=("code",)))}
    assert len(digests) == 2
