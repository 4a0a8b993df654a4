"""A repository on the command line is ``[NAME=]PATH``, and every verb reads it in the same way."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from searchmark import UsageError
from searchmark.cli.main import main
from searchmark.git.clones import RepositorySource, parse_repositories, parse_repository
from tests.support.small_histories import FILE, git, write_history


@pytest.fixture
def shop(tmp_path: Path, monkeypatch) -> Path:
    """A repository below the current folder, whose second commit makes a case."""
    first = {b"cart.py": (FILE, b"items = []\n"), b"login.py": (FILE, b"tries = 0\n")}
    write_history(tmp_path / "shop", [first])
    (tmp_path / "shop" / "cart.py").write_text("items = [None]\n")
    git(tmp_path / "shop", "commit", "-qam", "Remember what a customer wanted to buy")
    monkeypatch.chdir(tmp_path)
    return tmp_path / "shop"


@pytest.mark.slow
@pytest.mark.parametrize("name", ["shop", "org/shop", "Ünder score"])
def test_both_verbs_take_what_stands_before_the_first_equals_sign_for_the_name(shop: Path, name: str) -> None:
    assert main(["generate", "--repo", f"{name}=shop", "-o", "gold.json"]) == 0
    (case,) = json.loads(Path("gold.json").read_text())["test_cases"]
    assert case["repository"] == name
    shop.rename("moved")
    command = ["compare", "--gold-set", "gold.json", "--agents", "path-match", "random", "--num-runs", "1", "-m", "Success@1"]
    assert main([*command, "--repo", f"{name}=moved", "--journal", "journal"]) == 0


@pytest.mark.slow
def test_both_verbs_take_an_existing_folder_with_an_equals_sign_for_a_path(shop: Path) -> None:
    shop.rename("a=b")
    assert main(["generate", "--repo", "a=b", "-o", "gold.json"]) == 0
    assert json.loads(Path("gold.json").read_text())["test_cases"][0]["repository"] == "a=b"
    assert main(["evaluate", "--gold-set", "gold.json", "--agent", "path-match", "--num-runs", "1", "--repo", "a=b"]) == 0


@pytest.mark.parametrize("text", ["=shop", "shop=", "=", ""])
def test_both_verbs_refuse_half_a_name_and_a_path_and_say_which(shop: Path, text: str, capsys) -> None:
    assert main(["generate", "--repo", "shop", "-o", "gold.json"]) == 0
    assert main(["generate", "--repo", text, "-o", "other.json"]) == 4
    assert f"{text!r} is not a repository" in capsys.readouterr().err
    assert main(["evaluate", "--gold-set", "gold.json", "--agent", "path-match", "--repo", text]) == 4
    assert f"{text!r} is not a repository" in capsys.readouterr().err


class TestParsing:
    def test_a_path_alone_has_no_name_of_its_own_and_is_called_like_its_folder(self, tmp_path: Path) -> None:
        source = parse_repository(str(tmp_path / "api" / ".git"))
        assert (source.name, source.label) == (None, "api")
        assert parse_repository(str(tmp_path / "web.git")).label == "web"

    def test_a_path_may_contain_further_equals_signs(self) -> None:
        assert parse_repository("a=b=c") == RepositorySource("b=c", "a")

    def test_two_repositories_of_one_name_are_refused(self) -> None:
        with pytest.raises(UsageError, match="duplicate repository name 'x'"):
            parse_repositories(["/a/x", RepositorySource("/b/x")])
