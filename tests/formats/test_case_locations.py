"""Where each case is searched follows from the suite and from what was said, without a command line."""

from __future__ import annotations

from pathlib import Path

import pytest

from searchmark import Case, Document, FieldMapping, Judgment, SearchScope, Suite, UsageError
from searchmark.config.inputs import FileSettings
from searchmark.formats.corpora.case_locations import scope_of_agent, snapshots_to_search
from searchmark.formats.corpora.locations import Commit, Documents, Folder, Remote
from searchmark.formats.corpora.locator import locate_cases
from tests.support.small_histories import FILE, write_history

TREES = [{b"app.py": (FILE, b"%d\n" % number)} for number in range(4)]
OPTIONS = {"kinds": ["code"], "exclude_patterns": ["*.min.js"]}


@pytest.fixture
def shop(tmp_path: Path) -> tuple[Path, list[str]]:
    return tmp_path / "shop", write_history(tmp_path / "shop", TREES)


def suite_of(*cases: Case, **metadata: object) -> Suite:
    return Suite.from_cases("s", cases, metadata=metadata)


def mined(commits: list[str], repository: str = "shop") -> Suite:
    """Cases of the commits 3 and 1, in this order; the second names no parent in full."""
    judged = (Judgment("app.py", "path"),)
    fields = [{"parent_commit": commits[2]}, {"parent_commit": commits[0][:12]}]
    cases = [Case(f"c{3 - 2 * i}", "x", judged, fields=each) for i, each in enumerate(fields)]
    return suite_of(*cases, repositories={"shop": {"path": repository}}, options=OPTIONS)


def test_one_location_is_that_of_every_case_and_of_no_other(tmp_path: Path) -> None:
    located = locate_cases(suite_of(Case("b"), Case("a")), SearchScope(corpus=str(tmp_path)))
    assert list(located) == ["b", "a"]
    assert list(located.values()) == [located["a"]] * 2
    assert located.get("c") is None
    with pytest.raises(KeyError, match="c"):
        located["c"]


def test_a_corpus_is_for_all_cases(tmp_path: Path) -> None:
    located = locate_cases(suite_of(Case("a"), Case("b")), SearchScope(corpus=str(tmp_path), mapping=("id=asin",)))
    assert located == dict.fromkeys("ab", Folder(tmp_path.name, tmp_path.resolve(), FieldMapping(id="asin")))


def test_documents_that_cases_bring_along_are_searched_case_by_case() -> None:
    red, blue = (Document("1", "red"),), (Document("1", "blue"),)
    located = locate_cases(suite_of(Case("a", documents=red), Case("b", documents=blue), Case("c", documents=red)), SearchScope())
    assert located == {"a": Documents.of("s", red), "b": Documents.of("s", blue), "c": Documents.of("s", red)}
    digests = [location.identity for location in located.values()]
    assert digests == sorted(digests)


def test_parents_are_visited_along_the_history_with_the_candidates_of_the_gold_set(shop: tuple[Path, list[str]]) -> None:
    folder, commits = shop
    suite = mined(commits, str(folder))
    assert snapshots_to_search(suite, SearchScope()) == ["parent"]
    located = locate_cases(suite, SearchScope(), "parent")
    assert list(located.items()) == [
        ("c1", Commit("shop", folder, commits[0], ("code",), ("*.min.js",))),
        ("c3", Commit("shop", folder, commits[2], ("code",), ("*.min.js",))),
    ]


def test_folders_of_tools_that_were_committed_are_left_out_and_no_ignore_brings_them_back(tmp_path: Path) -> None:
    names = (b"app.py", b"web/node_modules/x.js", b"my env/pyvenv.cfg", b"my env/lib/a.py")
    write_history(tmp_path / "shop", [dict.fromkeys(names, (FILE, b"x\n"))])
    found = {}
    for ignore in (True, False):
        where = SearchScope(repositories=(str(tmp_path / "shop"),), files=FileSettings(ignore=ignore))
        location = locate_cases(suite_of(Case("a")), where, "head")["a"]
        assert isinstance(location, Commit)
        found[ignore] = ({each.id for each in location.open()}, location.exclude, location.digest == location.commit)
    assert found == {
        True: ({"app.py"}, ("**/node_modules/**", "./my env/**"), False),
        False: ({name.decode() for name in names}, (), True),
    }


@pytest.mark.parametrize(("snapshot", "number"), [("head", 3), ("HEAD~2", 1)])
def test_a_revision_is_the_same_for_all_cases(snapshot: str, number: int, shop: tuple[Path, list[str]]) -> None:
    folder, commits = shop
    located = locate_cases(mined(commits, str(folder)), SearchScope(candidates="all"), snapshot)
    assert set(located.values()) == {Commit("shop", folder, commits[number])}


@pytest.mark.parametrize("snapshot", ["worktree", None])
def test_the_work_tree_is_a_folder(snapshot: str | None, shop: tuple[Path, list[str]]) -> None:
    folder, commits = shop
    assert set(locate_cases(mined(commits, str(folder)), SearchScope(), snapshot).values()) == {Folder("shop", folder)}


def test_a_path_of_the_gold_set_is_found_from_where_the_gold_set_lies(shop: tuple[Path, list[str]]) -> None:
    folder, commits = shop
    located = locate_cases(mined(commits, "shop"), SearchScope(base=folder.parent), "head")
    assert {location.name for location in located.values()} == {"shop"}


def test_cases_without_a_repository_go_where_the_config_says(shop: tuple[Path, list[str]]) -> None:
    folder, _ = shop
    assert locate_cases(suite_of(Case("a")), SearchScope(repository_path=str(folder))) == {"a": Folder("shop", folder)}


def test_a_service_is_for_all_cases_and_nothing_asks_for_a_corpus(shop: tuple[Path, list[str]]) -> None:
    suite = mined(shop[1], "nowhere")
    assert snapshots_to_search(suite, SearchScope(service="shop")) == [None]
    assert locate_cases(suite, SearchScope(service="shop")) == dict.fromkeys(["c3", "c1"], Remote("shop"))


SERVICE = SearchScope(service="shop")


@pytest.mark.parametrize(
    ("where", "own", "searched"),
    [
        (SearchScope(), True, SERVICE),
        (SearchScope(), None, SERVICE),
        (SearchScope(), False, SearchScope()),
        (SearchScope(corpus="docs"), True, SearchScope(corpus="docs")),
        (SearchScope(repositories=(".",)), True, SearchScope(repositories=(".",))),
        (SearchScope(repository_path="."), True, SearchScope(repository_path=".")),
        (SearchScope(repositories=(".",), snapshots=("head",)), True, SERVICE),
        (SearchScope(repositories=(".",), snapshots=("head",)), None, SearchScope(repositories=(".",), snapshots=("head",))),
        (
            SearchScope(repositories=(".",), snapshots=("v1", "worktree")),
            True,
            SearchScope(repositories=(".",), snapshots=("worktree",)),
        ),
        (SearchScope(service="other"), True, SearchScope(service="other")),
    ],
)
def test_an_agent_with_a_corpus_of_its_own_is_asked_for_none(where: SearchScope, own: bool | None, searched: SearchScope) -> None:
    assert scope_of_agent(suite_of(Case("a")), where, "shop", own_corpus=own) == searched


def test_a_service_is_never_at_the_parents_of_a_gold_set(shop: tuple[Path, list[str]]) -> None:
    folder, commits = shop
    suite, named = mined(commits, str(folder)), SearchScope(repositories=(str(folder),))
    assert [scope_of_agent(suite, where, "shop", own_corpus=True) for where in (SearchScope(), named)] == [SERVICE, SERVICE]
    assert [scope_of_agent(suite, where, "shop", own_corpus=None) for where in (SearchScope(), named)] == [SearchScope(), named]


def test_documents_of_a_suite_are_what_hits_of_a_service_are_checked_against() -> None:
    suite = suite_of(Case("a", documents=(Document("d", "text"),)))
    assert scope_of_agent(suite, SearchScope(), "shop", own_corpus=True) == SearchScope()


@pytest.mark.parametrize(
    ("where", "said"),
    [
        (SearchScope(), "there is nothing to search"),
        (SearchScope(corpus="a", repositories=("b",)), "--corpus and --repo both name what to search"),
        (SearchScope(mapping=("id=x",)), "it needs --corpus"),
        (SearchScope(repositories=(".", "..")), "two repositories have no name; give each a name of its own: --repo NAME=PATH"),
        (SearchScope(repositories=("a=.", "a=..")), "duplicate repository name 'a'"),
        (SearchScope(repositories=("nowhere",)), "nowhere is not a folder"),
        (SearchScope(repositories=("x=",)), "'x=' is not a repository"),
        (SearchScope(service="shop", corpus="a"), "the service 'shop' searches what it has"),
        (SearchScope(service="shop", snapshots=("head",)), "the service 'shop' searches what it has"),
    ],
)
def test_what_cannot_be_meant_is_refused(where: SearchScope, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        locate_cases(suite_of(Case("a")), where)


def test_a_case_without_a_commit_has_no_parent(shop: tuple[Path, list[str]]) -> None:
    with pytest.raises(UsageError, match="the case 'a' names no commit"):
        locate_cases(suite_of(Case("a")), SearchScope(repositories=(str(shop[0]),)), "parent")
