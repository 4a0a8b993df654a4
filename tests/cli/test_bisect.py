"""``--bisect``: git finds the commit that made search worse, and passes over what cannot be judged."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from searchmark.cli.main import VERBS, main
from searchmark.git.process import sealed_environment
from tests.support.commands import searchmark
from tests.support.small_histories import FILE, IDENTITY, git, write_history

COMMITS, REGRESSION, BROKEN = 40, 27, (20, 21)
TOPICS = ("anvil", "barley", "copper", "dahlia", "ermine", "falcon", "garnet", "hazel", "indigo", "jasper", "kelp", "lilac")
SUITE = "schema_version: 1\nname: topics\ncases:\n" + "".join(
    f"  - {{id: {topic}, query: {topic}, judgments: [{{target: {topic}.txt}}]}}\n" for topic in TOPICS
)
AGENT = """
class Search:
    version = {number}

    def initialize(self, corpus):
        self.texts = {{document.id: document.text for document in corpus}}

    def retrieve(self, query, k):
        return sorted(self.texts, key=lambda name: (query in self.texts[name], name), reverse={best_first})[:k]
"""
GATE = ("--fail-under", "RR=0.9", "--bisect")


def agent(number: int) -> bytes:
    """The agent of a commit: the best hits come last from the regression on, and two commits cannot be imported."""
    text = AGENT.format(number=number, best_first=number < REGRESSION)
    return (f"{text}def broken(:\n" if number in BROKEN else text).encode()


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[str]]:
    """A repository with an agent, what it searches, and the suite; and the names of its commits."""
    kept = {f"docs/{topic}.txt".encode(): (FILE, f"all about {topic}\n".encode()) for topic in TOPICS}
    kept[b"suite.yaml"] = (FILE, SUITE.encode())
    folder = tmp_path_factory.mktemp("bisect") / "project"
    return folder, write_history(folder, [{**kept, b"search.py": (FILE, agent(n))} for n in range(1, COMMITS + 1)])


@pytest.mark.slow
def test_git_bisect_run_ends_at_the_commit_that_made_search_worse(project: tuple[Path, list[str]]) -> None:
    folder, commits = project
    git(folder, "bisect", "start", commits[-1], commits[0])
    evaluate = ["evaluate", "--gold-set", "suite.yaml", "--agent", "search.py:Search", "--corpus", "docs", "--num-runs", "1"]
    done = subprocess.run(
        ["git", "bisect", "run", sys.executable, "-m", "searchmark", *evaluate, *GATE, "--no-config"],
        cwd=folder, env=sealed_environment(**IDENTITY), capture_output=True, text=True, check=True,
    )  # fmt: skip
    log = git(folder, "bisect", "log").decode()
    assert f"{commits[REGRESSION - 1]} is the first bad commit" in done.stdout
    assert "# skip:" in log
    assert git(folder, "rev-parse", "refs/bisect/bad").decode().strip() == commits[REGRESSION - 1]


@pytest.fixture
def saved(file) -> Path:
    """A folder with a suite, and a run that meets RR >= 0.9 by a hair."""
    file("suite.yaml", SUITE)
    return file("run.trec", "".join(f"{topic} Q0 {topic}.txt 1 1.0 mine\n" for topic in TOPICS)).parent


GIVEN = ("--gold-set", "suite.yaml", "--no-config")
RUN = {"evaluate": ("evaluate", "--run", "run.trec", *GIVEN), "gate": ("gate", "run.trec", *GIVEN)}


@pytest.mark.slow
@pytest.mark.parametrize("verb", RUN)
@pytest.mark.parametrize(
    ("more", "code"),
    [
        (("--bisect", "--fail-under", "RR=0.9"), 0),
        (("--bisect", "--fail-under", "RR=1.5"), 1),
        (("--bisect", "--fail-under", "Tau=0.5"), 125),
        (("--bisect",), 125),
        (("--bisect=yes", "--fail-under", "RR=0.9"), 125),
        (("--bisect=", "--fail-under", "RR=1.5"), 125),
        (("--bisect", "--fail-under", "RR=nan"), 125),
        (("--bisect", "--unknown"), 125),
        (("--bisect", "--against", "missing.jsonl"), 125),
        (("--bisect", "--fail-under", "RR=0.9", "--gold-set", "missing.yaml"), 125),
        (("--bisect", "--help"), 125),
        (("--fail-under", "RR=0.9", "--gold-set", "missing.yaml"), 4),
    ],
)
def test_whatever_is_neither_good_nor_bad_is_passed_over(saved: Path, verb: str, more: tuple[str, ...], code: int) -> None:
    done = searchmark(*RUN[verb], *more, cwd=saved)
    assert (done.returncode, "Traceback" in done.stderr) == (code, False), done.stderr


@pytest.mark.parametrize("verb", sorted({*VERBS} - {"evaluate", "gate"}))
def test_a_verb_without_the_option_refuses_it(verb: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([verb, "--bisect"]) == 4
    assert "--bisect" in capsys.readouterr().err


def test_evaluate_without_a_rule_is_told_what_bisecting_needs(saved: Path) -> None:
    said = searchmark(*RUN["evaluate"], "--bisect", cwd=saved).stderr
    assert "--bisect needs a rule that tells good from bad: --fail-under, --gate, or a section 'gates' in the config" in said


def test_ctrl_c_stays_ctrl_c(saved: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.chdir(saved)
    monkeypatch.setattr("searchmark.cli.groups.load_suite_with_setup", interrupted)
    assert main([*RUN["gate"], *GATE]) == 130
