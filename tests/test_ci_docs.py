"""What docs/ci.md shows is what happens: its workflows run in a project of their own, and so does the action."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from tests.conftest import ROOT
from tests.support.commands import searchmark
from tests.support.small_histories import FILE, git, write_history

pytestmark = pytest.mark.slow

PAGE = (ROOT / "docs" / "ci.md").read_text()
BIN = Path(sys.executable).parent
INSTALL = (
    "python -m pip install 'searchmark @ git+https://HOST/PROJECT@COMMIT'"  # needs a network, and is what these tests are run with
)
ACTION = YAML(typ="safe").load((ROOT / "action.yml").read_text())
STEPS = {step["id"]: step for step in ACTION["runs"]["steps"] if "id" in step}


def block(mark: str) -> str:
    """The fenced block below a mark."""
    found = re.search(rf"<!-- {re.escape(mark)} -->\n(`{{3,}})\w+\n(.*?)^\1$", PAGE, re.DOTALL | re.MULTILINE)
    assert found is not None, mark
    return found[2]


def environment(folder: Path, **more: str) -> dict[str, str]:
    """What a runner sets, and nothing of CI that these tests may themselves be run in."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("GITHUB_")}
    summary = folder / "summary.md"
    summary.touch()
    return (
        kept | {"PATH": f"{BIN}:{os.environ['PATH']}", "GITHUB_STEP_SUMMARY": str(summary), "GITHUB_WORKSPACE": str(folder)} | more
    )


def bash(script: str, folder: Path, **more: str) -> subprocess.CompletedProcess[str]:
    """A step as GitHub runs it."""
    command = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", script]
    return subprocess.run(command, cwd=folder, env=environment(folder, **more), capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project with the files that the page speaks of, and its baseline, made as the page says."""
    folder = tmp_path_factory.mktemp("project")
    (folder / "search").mkdir()
    for name in ("suite.yaml", "corpus.jsonl"):
        shutil.copy(ROOT / "examples" / "quickstart" / name, folder / "search")
    (folder / "searchmark.yaml").write_text(block("config"))
    done = bash(block("baseline"), folder, USER="ada")
    assert done.returncode == 0, done.stderr
    return folder


@pytest.fixture
def project(template: Path, tmp_path: Path) -> Path:
    return shutil.copytree(template, tmp_path / "project")


def worse(project: Path) -> None:
    """Search gets worse: nobody finds most documents any more."""
    corpus = project / "search" / "corpus.jsonl"
    corpus.write_text("".join(corpus.read_text().splitlines(keepends=True)[:12]))


def github_steps() -> list[str]:
    (job,) = YAML(typ="safe").load(block("workflow: github"))["jobs"].values()
    return [step["run"] for step in job["steps"] if "run" in step]


def gitlab_steps() -> list[str]:
    (job,) = YAML(typ="safe").load(block("workflow: gitlab")).values()
    return list(job["script"])


@pytest.mark.slow
@pytest.mark.parametrize("steps", [github_steps(), gitlab_steps()], ids=["github", "gitlab"])
def test_the_commands_of_a_workflow_are_green_and_red_as_search_is(project: Path, steps: list[str]) -> None:
    install, command = steps
    assert install == INSTALL
    done = bash(command, project)
    assert done.returncode == 0, done.stderr
    written = {"report.json", "report.md", "report.xml", "report.comment.md", "run.jsonl"}
    assert {file.name for file in (project / "report").iterdir()} == written
    worse(project)
    done = bash(command, project)
    assert done.returncode in (1, 2), done.stderr
    assert "gate passed" not in done.stdout


def test_the_workflow_tells_the_step_and_the_job_of_gitlab_names_the_junit_file(project: Path) -> None:
    bash(github_steps()[-1], project)
    assert (project / "summary.md").read_text().startswith("## ✅ Search quality: the gate passed")
    (job,) = YAML(typ="safe").load(block("workflow: gitlab")).values()
    assert job["artifacts"]["reports"]["junit"] == "report/report.xml"
    assert (project / "report" / "report.xml").is_file()


def archive_steps(name: str) -> list[str]:
    """The commands of the workflow that hands on the archive, without the installation."""
    (job,) = _jobs(YAML(typ="safe").load(block(f"workflow: {name} archive")))
    steps = [step["run"] for step in job.get("steps", ()) if "run" in step] or [*job["script"], *job["after_script"]]
    assert steps[0] == INSTALL
    return steps[1:]


def _jobs(workflow: dict[str, Any]) -> list[dict[str, Any]]:
    return list(workflow.get("jobs", workflow).values())


@pytest.mark.slow
@pytest.mark.parametrize("name", ["github", "gitlab"])
def test_builds_that_hand_on_the_archive_know_the_ones_before(project: Path, name: str) -> None:
    assert ".searchmark/runs" in block(f"workflow: {name} archive")
    shutil.rmtree(project / ".searchmark")
    for _ in range(2):
        for command in archive_steps(name):
            done = bash(command, project)
            assert done.returncode == 0, done.stderr
    done = bash("searchmark history", project)
    assert len(done.stdout.splitlines()) == 3, done.stdout
    rows = (project / "report" / "trends.csv").read_text().splitlines()
    assert len([row for row in rows if ",,nDCG@10," in row]) == 2


@pytest.mark.parametrize("name", ["github", "gitlab"])
def test_the_examples_clone_the_whole_history(name: str) -> None:
    assert {"github": "fetch-depth: 0", "gitlab": "GIT_DEPTH: 0"}[name] in block(f"workflow: {name}")


def elided(shown: str, whole: str) -> bool:
    """Whether a block is a text, but for what its dots leave out."""
    parts = [re.escape(part) for part in re.split(r"^ *\.\.\.\n", shown, flags=re.MULTILINE)]
    return re.fullmatch("(?:.*\n)*".join(parts), whole) is not None


@pytest.mark.parametrize("file", ["report.xml", "report.comment.md"])
def test_the_files_on_the_page_are_those_that_are_written(file: str, tmp_path: Path) -> None:
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    found = re.search(r"^\$ searchmark (gate .*) -o demo-output/report.xml$", PAGE, re.MULTILINE)
    assert found is not None
    assert searchmark(*found[1].split(), "-o", file, cwd=tmp_path).returncode == 1
    assert elided(block(f"output: {file}"), (tmp_path / file).read_text())


def test_the_message_about_a_shallow_clone_is_that_of_the_page(tmp_path: Path) -> None:
    commits = write_history(tmp_path / "shop-whole", [{b"login.py": (FILE, b"login = %d\n" % n)} for n in range(3)])
    git(tmp_path, "clone", "-q", "--depth=1", (tmp_path / "shop-whole").as_uri(), "shop")
    case = f'{{"id": "c1", "query": "login", "ground_truth_files": ["login.py"], "parent_commit": "{commits[0]}"}}'
    (tmp_path / "gold_set.json").write_text(f'{{"test_cases": [{case}]}}')
    done = searchmark("evaluate", "--gold-set", "gold_set.json", "--agent", "bm25", "--repo", "shop", "--no-config", cwd=tmp_path)
    assert block("output: shallow") == done.stderr.replace(str(tmp_path.resolve()), "/builds").replace(commits[0], "3f1d…")


class TestAction:
    def test_no_input_is_written_into_a_script(self) -> None:
        assert all("${{" not in step.get("run", "") for step in ACTION["runs"]["steps"])

    def test_the_actions_that_it_uses_are_named_by_commit(self) -> None:
        used = re.findall(r"uses: (.*)", (ROOT / "action.yml").read_text())
        assert used
        assert all(re.fullmatch(r"[\w-]+/[\w-]+@[0-9a-f]{40} # v[\d.]+", each) for each in used), used

    def test_every_input_is_on_the_page_and_used(self) -> None:
        table = PAGE[PAGE.index("| input |") : PAGE.index("Inputs reach the scripts")]
        assert [name for name in ACTION["inputs"] if f"`{name}`" not in table] == []
        assert [name for name in ACTION["inputs"] if f"inputs.{name}" not in (ROOT / "action.yml").read_text()] == []

    def evaluate(self, folder: Path, **given: str) -> subprocess.CompletedProcess[str]:
        """Its main step, with the inputs under the names that the step has for them."""
        inputs = {name: details.get("default", "") for name, details in ACTION["inputs"].items()} | given
        known: Mapping[str, Any] = STEPS["evaluate"]["env"]
        return bash(STEPS["evaluate"]["run"], folder, **{name: inputs[self.input_of(text)] for name, text in known.items()})

    def input_of(self, text: str) -> str:
        found = re.fullmatch(r"\$\{\{ inputs\.([\w-]+) \}\}", text)
        assert found is not None
        return found[1]

    def test_it_writes_every_report_and_the_summary(self, project: Path) -> None:
        given = {"gold-set": "search/suite.yaml", "agent": "bm25", "corpus": "search/corpus.jsonl"}
        done = self.evaluate(project, **given, arguments="--fail-under=RR=0.99\n--num-runs\n1\n")
        assert done.returncode == 1, done.stderr
        folder = project / "searchmark-report"
        assert {file.name for file in folder.iterdir()} == {
            "report.json",
            "report.xml",
            "report.md",
            "report.comment.md",
            "run.jsonl",
        }
        assert (project / "summary.md").read_text().startswith("## ❌")

    def test_it_scores_a_saved_run_against_a_baseline(self, project: Path) -> None:
        given = {"gold-set": "search/suite.yaml", "run": "search/baseline.jsonl", "against": "search/baseline.jsonl"}
        done = self.evaluate(project, **given, report="out")
        assert done.returncode == 0, done.stderr
        assert (project / "out" / "report.comment.md").read_text().startswith("## ✅")

    @pytest.mark.parametrize("text", ["$(touch pwned)`touch pwned`'; touch pwned; \"; touch pwned; \ntouch pwned *", "--help"])
    @pytest.mark.parametrize("name", ["gold-set", "agent", "run", "corpus", "config", "against", "report"])
    def test_an_input_is_data(self, project: Path, name: str, text: str) -> None:
        given = {"gold-set": "search/suite.yaml", "run": "search/baseline.jsonl"} | {name: text}
        done = self.evaluate(project, **given)
        assert "Traceback" not in done.stderr
        assert done.returncode == {"report": 0, "against": 2}.get(name, 4), done.stderr
        assert not (project / "pwned").exists()

    def test_a_command_that_measures_nothing_is_not_green(self, project: Path) -> None:
        done = self.evaluate(project, **{"gold-set": "search/suite.yaml", "run": "search/baseline.jsonl"}, arguments="--help")
        assert (done.returncode, "::error title=Search quality::Nothing was measured" in done.stdout) == (4, True)

    @pytest.mark.parametrize(("known", "method"), [("", "POST"), ("17\n18", "PATCH")])
    def test_a_later_build_changes_its_comment(self, tmp_path: Path, known: str, method: str) -> None:
        (tmp_path / "bin").mkdir()
        program = tmp_path / "bin" / "gh"
        program.write_text(f'#!/bin/sh\necho "$*" >> {tmp_path}/asked\ncase "$*" in *--paginate*) printf "{known}";; esac\n')
        program.chmod(0o755)
        (tmp_path / "report.comment.md").write_text("x")
        more = {"GITHUB_REPOSITORY": "o/r", "PULL_REQUEST": "5", "REPORT": ".", "PATH": f"{tmp_path}/bin:{os.environ['PATH']}"}
        done = bash(STEPS["comment"]["run"], tmp_path, **more)
        assert (done.returncode, done.stdout) == (0, "")
        address = {"POST": "repos/o/r/issues/5/comments", "PATCH": "repos/o/r/issues/comments/17"}[method]
        asked = (tmp_path / "asked").read_text().splitlines()[-1]
        assert asked == f"api --silent --method {method} {address} --field body=@./report.comment.md"

    def test_a_comment_that_may_not_be_written_is_a_warning(self, tmp_path: Path) -> None:
        (tmp_path / "bin").mkdir()
        (tmp_path / "bin" / "gh").write_text("#!/bin/sh\nexit 1\n")
        (tmp_path / "bin" / "gh").chmod(0o755)
        (tmp_path / "report.comment.md").write_text("x")
        more = {"GITHUB_REPOSITORY": "o/r", "PULL_REQUEST": "5", "REPORT": ".", "PATH": f"{tmp_path}/bin:{os.environ['PATH']}"}
        done = bash(STEPS["comment"]["run"], tmp_path, **more)
        assert (done.returncode, done.stdout.startswith("::warning title=Search quality::")) == (0, True)
