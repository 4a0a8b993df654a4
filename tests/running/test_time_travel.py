"""Cases that were mined from commits are searched in the tree that the author of the commit saw."""

from __future__ import annotations

import json
import shutil
from contextlib import chdir, redirect_stdout
from pathlib import Path
from typing import Any

import pytest

from searchmark import load_run
from searchmark.cli.main import main
from tests.support.small_histories import FILE, git, write_history

STATES = [
    {"app/login.py": "def login(user): pass\n", "docs/login.md": "login login login\n"},
    {"app/login.py": "def login(user):\n    check(user)\n", "docs/login.md": "login login login\n"},
    {"core/login.py": "def login(user):\n    check(user)\n", "app/cart.py": "class Cart: pass\n", "docs/login.md": "x\n"},
    {
        "core/login.py": "def login(user):\n    check(user)\n",
        "app/cart.py": "class Cart:\n    def discount(self): pass\n",
        "app/zzz.py": "discount",
    },
]
# Changed by the commits 1 and 3; the first target has moved since, the word of the second came with its commit.
TARGETS = [("login user check", 1, "app/login.py"), ("cart discount", 3, "app/cart.py")]


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[str]]:
    """A repository with its gold set, and its commits."""
    folder = tmp_path_factory.mktemp("project")
    trees = [{path.encode(): (FILE, text.encode()) for path, text in state.items()} for state in STATES]
    commits = write_history(folder / "shop", trees)
    cases = [
        {
            "id": f"c{number}",
            "query": query,
            "ground_truth_files": [target],
            "commit_hash": commits[number],
            "parent_commit": commits[number - 1],
            "repository": "shop",
        }
        for query, number, target in TARGETS
    ]
    save(folder / "gold.json", cases)
    return folder, commits


@pytest.fixture
def history(project: tuple[Path, list[str]], tmp_path: Path, monkeypatch) -> list[str]:
    folder, commits = project
    shutil.copytree(folder, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    return commits


@pytest.fixture(scope="module")
def bm25_run(project: tuple[Path, list[str]], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The project with a run, its report and its journal, and with what was printed."""
    folder = tmp_path_factory.mktemp("run")
    shutil.copytree(project[0], folder, dirs_exist_ok=True)
    with chdir(folder), Path("out.txt").open("w") as printed, redirect_stdout(printed):
        evaluate("--agent", "bm25")
    return folder


@pytest.fixture
def after_run(bm25_run: Path, tmp_path: Path, monkeypatch) -> dict[str, Any]:
    """We are in a copy of that project; what was found."""
    shutil.copytree(bm25_run, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    return agent_of("out.json")


def save(path: Path, cases: list[dict[str, Any]], **options: Any) -> None:
    metadata = {"repositories": {"shop": {"path": "shop"}}, "options": {"kinds": ["code"], "exclude_patterns": []} | options}
    path.write_text(json.dumps({"test_cases": cases, "metadata": metadata}))


def evaluate(*arguments: str) -> dict[str, Any]:
    saved = ["-o", "out.json", "--save-run", "run.jsonl"]
    assert main(["evaluate", "--gold-set", "gold.json", "--num-runs", "1", "-m", "Success@1", *arguments, *saved]) == 0
    return agent_of("out.json")


def agent_of(report: str) -> dict[str, Any]:
    (agent,) = json.loads(Path(report).read_text())["agents"].values()
    return agent


def builds() -> tuple[int, int]:
    """How often the last run built its index, and how often it updated it."""
    index = load_run("run.jsonl").provenance.index
    return (index.full_builds, index.updates)


def firsts(agent: dict[str, Any]) -> dict[str, list[str]]:
    return {case: [hit["id"] for hit in data["hits"]] for case, data in agent["cases"].items()}


def test_parents_are_what_a_mined_suite_is_searched_in(after_run: dict[str, Any]) -> None:
    agent = after_run
    assert agent["snapshot"] == "parent"
    assert firsts(agent) == {"c1": ["app/login.py"], "c3": ["app/cart.py"]}
    assert agent["measures"]["Success@1"]["mean"] == 1.0
    assert builds() == (1, 1)


@pytest.mark.slow
def test_the_head_is_wrong_in_both_directions(history: list[str], capsys) -> None:
    agent = evaluate("--agent", "bm25", "--snapshot", "head")
    assert agent["dropped"]["unreachable_targets"] == 1
    assert agent["cases"]["c1"]["details"]["unreachable"] == ["app/login.py"]
    assert firsts(agent)["c1"] == ["core/login.py"]
    assert set(firsts(agent)["c3"]) == {"app/cart.py", "app/zzz.py"}


@pytest.mark.slow
def test_the_comparison_of_snapshots_says_what_went_wrong_case_by_case(history: list[str], capsys) -> None:
    command = ["compare", "--gold-set", "gold.json", "--agents", "bm25", "--snapshot", "parent", "--snapshot", "head", "-m", "RR"]
    assert main([*command, "-o", "out.json", "-o", "out.md"]) == 0
    report = json.loads(Path("out.json").read_text())
    assert list(report["agents"]) == ["bm25@parent", "bm25@head"]
    (effect,) = report["snapshot_effects"]
    assert (effect["reference"], effect["other"]) == ("bm25@parent", "bm25@head")
    assert ("c1", "targets are gone", ["app/login.py"]) in [(case["case"], case["why"], case["gone"]) for case in effect["lower"]]
    assert "What bm25@" in Path("out.md").read_text().replace("\u200b", "")


@pytest.mark.slow
def test_pairs_that_cross_agents_and_snapshots_have_no_verdict(history: list[str], capsys) -> None:
    """Such a pair cannot tell the agent from the snapshot; the comparison as a whole is sound."""
    snapshots = ["--snapshot", "parent", "--snapshot", "head"]
    command = ["compare", "--gold-set", "gold.json", "--agents", "bm25", "random", *snapshots, "-m", "RR", "-o", "out.json"]
    assert main(command) == 0
    report = json.loads(Path("out.json").read_text())
    crossing = [{found["baseline"], found["candidate"]} for found in report["comparisons"] if found["verdict"] == "INVALID"]
    assert crossing == [{"bm25@parent", "random@head"}, {"bm25@head", "random@parent"}]
    assert [note["severity"] for note in report["audit"] if note["code"] == "different-snapshots"] == ["note", "note"]


@pytest.mark.slow
def test_any_revision_and_the_work_tree_can_be_searched(history: list[str]) -> None:
    Path("shop/app/login.py").write_text("login user check")
    assert firsts(evaluate("--agent", "bm25", "--snapshot", history[0]))["c1"] == ["app/login.py"]
    assert "app/login.py" in firsts(evaluate("--agent", "bm25", "--snapshot", "worktree"))["c1"]
    assert firsts(evaluate("--agent", "bm25", "--snapshot", "HEAD~2"))["c1"] == ["app/login.py"]


@pytest.mark.slow
def test_files_that_could_be_no_target_are_not_searched_unless_asked_for(after_run: dict[str, Any]) -> None:
    assert firsts(after_run)["c1"] == ["app/login.py"]
    assert "files searched, by kind, as in the gold set: code" in Path("out.txt").read_text()
    assert set(firsts(evaluate("--agent", "bm25", "--candidates", "all"))["c1"]) == {"docs/login.md", "app/login.py"}


@pytest.mark.slow
@pytest.mark.parametrize("agent", ["keyword", "mine.py:Mine"])
def test_agents_that_want_a_folder_get_one_that_moves_along(agent: str, history: list[str]) -> None:
    Path("mine.py").write_text(
        "from pathlib import Path\n\n\nclass Mine:\n    def initialize(self, repo_path: str):\n        self.root = Path(repo_path)\n        assert not (self.root / '.git').exists()\n\n"
        "    def retrieve(self, query):\n        files = sorted(path for path in self.root.rglob('*') if path.is_file())\n"
        "        return [path for path in files if any(word in path.read_text().lower() for word in query.split())]\n"
    )
    found = evaluate("--agent", agent)
    assert firsts(found) == {"c1": ["app/login.py"], "c3": ["app/cart.py"]} or agent == "keyword"
    assert found["measures"]["Success@1"]["mean"] == 1.0
    assert found["dropped"].get("invalid", 0) == 0
    if agent != "keyword":
        assert builds() == (2, 0)


def test_the_repository_is_left_as_it_was(history: list[str]) -> None:
    def state() -> list[tuple[str, bytes]]:
        return [(str(path), path.read_bytes()) for path in sorted(Path("shop").rglob("*")) if path.is_file()]

    before = state()
    evaluate("--agent", "keyword")
    assert state() == before


@pytest.mark.slow
def test_a_bare_repository_will_do(history: list[str]) -> None:
    git(Path("shop"), "clone", "-q", "--bare", ".", "../bare.git")
    assert firsts(evaluate("--agent", "bm25", "--repo", "bare.git"))["c1"] == ["app/login.py"]


@pytest.mark.slow
def test_a_gold_set_that_names_only_commits_has_parents_too(history: list[str]) -> None:
    gold = json.loads(Path("gold.json").read_text())
    save(Path("gold.json"), [{key: value for key, value in case.items() if key != "parent_commit"} for case in gold["test_cases"]])
    assert firsts(evaluate("--agent", "bm25", "--snapshot", "parent"))["c1"] == ["app/login.py"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--snapshot", "nonsense"], "'nonsense' is not a commit"),
        (["--snapshot", "--upload-pack=x"], "is not a revision"),
        (["--snapshot", "parent", "--corpus", "shop"], "--snapshot is a state of a repository"),
        (["--snapshot", "parent", "--snapshot", "head"], "evaluate takes one snapshot"),
        (["--snapshot", "head", "--repo", "."], "not a Git repository"),
    ],
)
def test_a_snapshot_that_is_none_gets_a_sentence(arguments: list[str], said: str, history: list[str], capsys) -> None:
    assert main(["evaluate", "--gold-set", "gold.json", "--agent", "bm25", *arguments]) == 4
    assert said in capsys.readouterr().err


@pytest.mark.slow
def test_a_resumed_journey_gives_the_same_answers(after_run: dict[str, Any]) -> None:
    whole = firsts(after_run)
    journal = Path(".searchmark/gold.bm25.jsonl")
    journal.write_text("\n".join(journal.read_text().split("\n")[:2]) + "\n")
    assert firsts(evaluate("--agent", "bm25", "--resume")) == whole


@pytest.mark.slow
def test_a_partial_clone_that_lacks_contents_has_no_scores_to_trust(history: list[str], capsys) -> None:
    git(Path("shop"), "config", "uploadpack.allowFilter", "true")
    git(Path(), "clone", "-q", "--bare", "--filter=blob:none", f"file://{Path('shop').resolve()}", "partial.git")
    assert main(["evaluate", "--gold-set", "gold.json", "--agent", "bm25", "--repo", "partial.git", "-o", "out.json"]) == 2
    report = json.loads(Path("out.json").read_text())
    (note,) = (note for note in report["audit"] if note["code"] == "not-whole")
    assert note["message"].startswith("untrusted: 2 of 2 cases were not searched: the repository is not whole: ")
    assert "partial.git lacks 1 of 1 contents" in note["message"]
    assert "fetch the contents first (git -C " in note["message"]


@pytest.fixture
def damaged_later(history: list[str]) -> str:
    """The content that the second case is searched in is lost; the first case is not concerned."""
    blob = git(Path("shop"), "rev-parse", f"{history[2]}:app/cart.py").decode().strip()
    Path("shop/.git/objects", blob[:2], blob[2:]).unlink()
    return blob


@pytest.mark.slow
@pytest.mark.parametrize("jobs", ["1", "2"])
def test_content_that_is_lost_later_is_an_error_of_its_case_for_every_agent(jobs: str, damaged_later: str) -> None:
    names = ["bm25", "keyword", "fts5", "path-match", "random", "popular"]
    command = ["compare", "--gold-set", "gold.json", "--agents", *names, "--num-runs", "1", "--jobs", jobs, "-o", "out.json"]
    assert main(command) == 2
    agents = json.loads(Path("out.json").read_text())["agents"]
    assert list(agents) == names
    for name, found in agents.items():
        statuses = {case: data["status"] for case, data in found["cases"].items()}
        assert statuses == {"c1": "ok", "c3": "error"}, name
        assert "shop lacks 1 of 2 contents" in found["cases"]["c3"]["details"]["failure"], name


@pytest.mark.slow
def test_a_cache_does_not_hide_that_content_is_lost(history: list[str], request) -> None:
    evaluate("--agent", "bm25")
    request.getfixturevalue("damaged_later")
    command = ["evaluate", "--gold-set", "gold.json", "--agent", "bm25", "-o", "out.json"]
    assert main(command) == 2
    (found,) = json.loads(Path("out.json").read_text())["agents"].values()
    assert {case: data["status"] for case, data in found["cases"].items()} == {"c1": "ok", "c3": "error"}


@pytest.mark.slow
def test_once_the_content_is_back_the_lost_cases_are_asked_again(history: list[str], request) -> None:
    saved = git(Path("shop"), "show", f"{history[2]}:app/cart.py")
    request.getfixturevalue("damaged_later")
    assert main(["evaluate", "--gold-set", "gold.json", "--agent", "bm25", "--num-runs", "1", "-o", "out.json"]) == 2
    git(Path("shop"), "hash-object", "-w", "--stdin", data=saved)
    assert firsts(evaluate("--agent", "bm25", "--retry-errors"))["c3"] == ["app/cart.py"]


@pytest.mark.slow
def test_parents_are_held_against_whatever_the_order_of_the_options(history: list[str], capsys) -> None:
    command = ["compare", "--gold-set", "gold.json", "--agents", "bm25", "--snapshot", "head", "--snapshot", "parent", "-m", "RR"]
    assert main([*command, "-o", "out.json"]) == 0
    (effect,) = json.loads(Path("out.json").read_text())["snapshot_effects"]
    assert (effect["reference"], effect["other"]) == ("bm25@parent", "bm25@head")


@pytest.mark.slow
def test_lines_of_hits_do_not_hide_the_file_from_judgments_by_path(history: list[str]) -> None:
    Path("searchmark.yaml").write_text("agents: [{name: lined, class: semantic, config: {lines: true}}]\n")
    assert (
        evaluate("--agent", "lined")["measures"]["Success@1"]["mean"]
        == evaluate("--agent", "semantic")["measures"]["Success@1"]["mean"]
        == 1.0
    )


def test_an_update_that_means_something_else_is_not_called(history: list[str]) -> None:
    Path("mine.py").write_text(
        "class Mine:\n    def initialize(self, repo_path: str): self.ready = True\n    def update(self, docs, commit=True): raise OSError('not yours')\n"
        "    def retrieve(self, query): return ['app/login.py', 'app/cart.py']\n"
    )
    agent = evaluate("--agent", "mine.py:Mine")
    assert (agent["counts"]["ok"], *builds()) == (2, 2, 0)


@pytest.mark.slow
def test_a_gold_set_is_evaluated_from_any_directory(history: list[str], tmp_path: Path, monkeypatch) -> None:
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    assert main(["evaluate", "--gold-set", "../gold.json", "--agent", "bm25", "--num-runs", "1"]) == 0


@pytest.mark.slow
def test_naming_one_repository_leaves_the_others_where_they_are(history: list[str]) -> None:
    gold = json.loads(Path("gold.json").read_text())
    gold["test_cases"][1]["repository"] = "moved"
    gold["metadata"]["repositories"]["moved"] = {"path": "nowhere"}
    Path("gold.json").write_text(json.dumps(gold))
    git(Path("shop"), "clone", "-q", "--bare", ".", "../a=b")
    assert firsts(evaluate("--agent", "bm25", "--repo", "moved=a=b"))["c3"] == ["app/cart.py"]
    assert firsts(evaluate("--agent", "bm25", "--repo", "a=b"))["c3"] == ["app/cart.py"]


@pytest.mark.slow
def test_a_journal_of_some_candidates_is_not_continued_with_others(history: list[str], capsys) -> None:
    command = ["evaluate", "--gold-set", "gold.json", "--agent", "bm25", "--num-runs", "1", "--snapshot", "head"]
    assert main(command) == 0
    assert main([*command, "--candidates", "all", "--resume"]) == 2
    assert "different corpus" in capsys.readouterr().err
