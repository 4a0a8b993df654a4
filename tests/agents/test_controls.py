"""Controls: agents that cannot know the answer."""

from __future__ import annotations

import subprocess
from collections import Counter
from pathlib import Path

import pytest

from searchmark import Changes, Corpus, Document, UsageError, load_corpus
from searchmark.agents.controls import PathMatchAgent, PopularAgent, RandomAgent, RandomSettings
from searchmark.formats.corpora.snapshots import CommitSource


def corpus_of(*documents: Document) -> Corpus:
    return Corpus.of("documents", documents)


FILES = corpus_of(
    Document("src/auth/login_view.py", "nothing"),
    Document("src/auth/session.py", "login login login"),
    Document("docs/login.md", "nothing"),
    Document("9", "login", "Boots"),
)


class TestPathMatch:
    def test_sees_names_and_titles_and_never_contents(self) -> None:
        agent = PathMatchAgent()
        agent.initialize(FILES)
        assert agent.retrieve("loginView", 9).files == ["src/auth/login_view.py", "docs/login.md"]
        assert agent.retrieve("boots", 9).files == ["9"]

    def test_follows_changes(self) -> None:
        agent, fresh = PathMatchAgent(), PathMatchAgent()
        after = corpus_of(*(document for document in FILES if document.id != "9"), Document("boots.py", ""))
        agent.initialize(FILES)
        assert agent.update(Changes(after, ("boots.py",), ("9",)))
        fresh.initialize(after)
        for query in ("boots", "src auth", "py"):
            assert agent.retrieve(query, 9) == fresh.retrieve(query, 9)


def commit(folder: Path, files: dict[str, str | None]) -> None:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).unlink() if text is None else (folder / name).write_text(text)
    identity = ["-c", "user.name=n", "-c", "user.email=e@example.org"]
    subprocess.run(["git", "add", "--all"], cwd=folder, check=True)
    subprocess.run(["git", *identity, "commit", "--quiet", "--message=m"], cwd=folder, check=True)


def popular(corpus: Corpus) -> list[tuple[str, float]]:
    agent = PopularAgent()
    agent.initialize(corpus)
    result = agent.retrieve("anything", 9)
    return list(zip(result.files, result.scores or (), strict=True))


class TestPopular:
    @pytest.fixture
    def repository(self, tmp_path: Path) -> Path:
        subprocess.run(["git", "init", "--quiet", tmp_path], check=True)
        for number in range(4):
            commit(tmp_path, {"src/often.py": str(number), "gone.py": str(number)})
        commit(tmp_path, {"src/twice\n.py": "1", "src/once.py": "1", "a.py": "1"})
        commit(tmp_path, {"src/twice\n.py": "2", "gone.py": None})
        return tmp_path

    @pytest.mark.parametrize(
        ("below", "expected"),
        [
            ("", {"src/often.py": 4.0, "src/twice\n.py": 2.0, "a.py": 1.0, "src/once.py": 1.0}),
            ("src", {"often.py": 4.0, "twice\n.py": 2.0, "once.py": 1.0}),
        ],
    )
    def test_counts_the_commits_of_what_exists(self, repository: Path, below: str, expected: dict[str, float]) -> None:
        agent = PopularAgent()
        agent.initialize(load_corpus(repository / below))
        result = agent.retrieve("anything", 9)
        assert list(zip(result.files, result.scores or (), strict=True)) == list(expected.items())
        assert agent.retrieve("else", 1).files == list(expected)[:1]

    @pytest.mark.parametrize("at_a_commit", [False, True])
    def test_grafts_and_settings_of_the_repository_change_nothing(self, repository: Path, at_a_commit: bool) -> None:
        corpus = load_corpus(repository)
        if at_a_commit:
            head = subprocess.run(["git", "rev-parse", "HEAD"], cwd=repository, capture_output=True, check=True, text=True).stdout
            corpus = Corpus("at a commit", CommitSource(repository, head.strip()))
        sound = popular(corpus)
        graft = subprocess.run(["git", "rev-parse", "HEAD~3"], cwd=repository, capture_output=True, check=True, text=True).stdout
        (repository / ".git/info/grafts").write_text(graft)
        for setting in ("log.showRoot", "core.quotePath", "log.follow", "log.mailmap"):
            subprocess.run(["git", "config", setting, "false"], cwd=repository, check=True)
        subprocess.run(["git", "config", "log.showSignature", "true"], cwd=repository, check=True)
        assert popular(corpus) == sound

    def test_a_folder_of_a_linked_work_tree_has_the_history_of_its_branch(self, repository: Path, tmp_path: Path) -> None:
        subprocess.run(["git", "worktree", "add", "-q", "--detach", tmp_path / "linked", "HEAD~2"], cwd=repository, check=True)
        assert popular(load_corpus(tmp_path / "linked" / "src")) == [("often.py", 4.0)]

    def test_files_that_were_never_committed_have_no_history(self, repository: Path) -> None:
        (repository / "new").mkdir()
        (repository / "new" / "file.py").write_text("x")
        with pytest.raises(UsageError, match="no file of it is in Git"):
            PopularAgent().initialize(load_corpus(repository / "new"))

    def test_without_a_history_it_is_an_error_that_says_so(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        (tmp_path / "file.py").write_text("x")
        monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
        with pytest.raises(UsageError, match=r"needs a Git history; .* is not inside a Git repository"):
            PopularAgent().initialize(load_corpus(tmp_path))
        with pytest.raises(UsageError, match="needs a Git history; the corpus 'documents' is not a folder with one"):
            PopularAgent().initialize(FILES)


class TestRandom:
    def test_depends_on_seed_and_query_and_not_on_the_order_of_the_corpus(self) -> None:
        agent, other, reversed_ = RandomAgent(), RandomAgent(RandomSettings(seed=1)), RandomAgent()
        many = [Document(f"d{number}", "") for number in range(50)]
        for each, documents in ((agent, many), (other, many), (reversed_, many[::-1])):
            each.initialize(corpus_of(*documents))
        assert agent.retrieve("q", 50) == reversed_.retrieve("q", 50)
        assert agent.retrieve("q", 50).files[:7] == agent.retrieve("q", 7).files
        assert len({tuple(a.retrieve(q, 50).files) for a in (agent, other) for q in ("q", "r")}) == 4
        assert set(agent.retrieve("q", 50).files) == {document.id for document in many}

    def test_every_document_has_the_same_chance(self) -> None:
        """Chi-squared over 20 documents and 4,000 queries, 19 degrees of freedom: above 43.8 once in a thousand seeds."""
        agent = RandomAgent()
        agent.initialize(corpus_of(*(Document(f"d{number}", "") for number in range(20))))
        firsts = Counter(agent.retrieve(f"query {number}", 1).files[0] for number in range(4000))
        assert sum((firsts[f"d{number}"] - 200) ** 2 / 200 for number in range(20)) < 43.8

    def test_scores_fall(self) -> None:
        agent = RandomAgent()
        agent.initialize(FILES)
        scores = list(agent.retrieve("q", 9).scores or ())
        assert scores == sorted(scores, reverse=True)
        assert all(0 <= score < 1 for score in scores)
