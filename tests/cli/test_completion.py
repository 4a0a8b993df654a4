"""Shell completion, by the protocol that the scripts of click speak, and in bash itself."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from searchmark.cli.main import VERBS, main
from searchmark.cli.verbs.completion import SHELLS
from searchmark.measures.catalogue import DEFINITIONS

HEAVY = ("polars", "pydantic", "rich", "pandas", "pyarrow", "lz4", "resvg_py", "jinja2")


@pytest.fixture
def completed(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path):
    """What is offered for the last of the words that were typed, as lines of ``kind,value``."""
    monkeypatch.chdir(tmp_path)

    def complete(*words: str) -> list[str]:
        monkeypatch.setenv("_SEARCHMARK_COMPLETE", "bash_complete")
        monkeypatch.setenv("COMP_WORDS", " ".join(["searchmark", *words]))
        monkeypatch.setenv("COMP_CWORD", str(len(words)))
        assert main([]) == 0
        return capsys.readouterr().out.splitlines()

    return complete


def test_verbs_are_completed(completed) -> None:
    assert completed("") == [f"plain,{verb}" for verb in VERBS]
    assert completed("comp") == ["plain,compare", "plain,completion"]
    assert completed("baseline", "u") == ["plain,update"]


def test_options_are_completed(completed) -> None:
    assert completed("evaluate", "--gold") == ["plain,--gold-set"]
    assert completed("-q", "gate", "--fail") == ["plain,--fail-under"]


@pytest.mark.parametrize(
    "words", [("evaluate", "--agent", "bm"), ("compare", "--agents", "bm"), ("compare", "--agents", "keyword", "bm")]
)
def test_agents_are_completed(words: tuple[str, ...], completed) -> None:
    assert completed(*words) == ["plain,bm25"]


def test_agents_of_the_config_are_completed(completed) -> None:
    Path("searchmark.toml").write_text('agents = ["bm25", {name = "shop", source = "semantic"}]\n')
    assert completed("evaluate", "--agent", "sho") == ["plain,shop"]
    assert completed("compare", "--agents", "bm") == ["plain,bm25"]
    Path("searchmark.toml").write_text('agents = ["sho$(touch ran)", "sho;ls", "sho`ls`", "sho ls"]\n')  # a shell would run it
    assert [each for each in completed("evaluate", "--agent", "sho") if each.startswith("plain")] == []
    Path("searchmark.toml").write_text("agents = [")
    assert completed("evaluate", "--agent", "bm") == ["plain,bm25"]


def test_an_option_behind_agents_is_an_option(completed) -> None:
    assert completed("compare", "--agents", "bm25", "--gold") == ["plain,--gold-set"]


def test_measures_and_formats_are_completed(completed) -> None:
    assert completed("evaluate", "-m", "ndc") == [f"plain,{name}" for name in DEFINITIONS if name.lower().startswith("ndc")]
    assert completed("evaluate", "--format", "que") == ["plain,quepid"]
    assert completed("convert", "--to", "nat") == ["plain,native"]
    assert completed("completion", "z") == ["plain,zsh"]
    assert completed("measures", "nDCG", "succ") == ["plain,Success"]
    assert completed("agents", "keyw") == ["plain,keyword"]
    assert completed("docs", "trou") == ["plain,troubleshooting"]


def test_files_and_folders_are_left_to_the_shell(completed) -> None:
    assert completed("evaluate", "--gold-set", "sui") == ["file,sui"]
    assert completed("evaluate", "--run", "") == ["file,"]
    assert completed("evaluate", "--journal", "x") == ["dir,x"]
    assert completed("cases", "sui") == ["file,sui"]
    assert completed("compare", "--run", "a.trec", "b") == ["file,b"]
    assert completed("compare", "--run", "a.trec", "b.trec", "--agents", "keyw") == ["plain,keyword"]


@pytest.mark.parametrize("shell", SHELLS)
def test_the_script_of_every_shell_is_printed(shell: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["completion", shell]) == 0
    assert f"_SEARCHMARK_COMPLETE={shell}_complete" in capsys.readouterr().out


def test_an_unknown_shell_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["completion", "csh"]) == 4
    assert "'bash', 'zsh', 'fish'" in capsys.readouterr().err


@pytest.mark.slow
def test_completing_loads_nothing_heavy(tmp_path: Path) -> None:
    code = (
        "import sys; from searchmark.cli.main import main; main([]); "
        f"print([name for name in {HEAVY!r} if name in sys.modules], file=sys.stderr)"
    )
    for words in ("searchmark evaluate --agent b", "searchmark compare -m n", "searchmark evaluate --fo", "searchmark ev"):
        told = {"_SEARCHMARK_COMPLETE": "zsh_complete", "COMP_WORDS": words, "COMP_CWORD": str(words.count(" "))}
        done = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True, env={**os.environ, **told}, cwd=tmp_path
        )
        assert done.stdout
        assert done.stderr.strip() == "[]"


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("bash") is None, reason="bash is not installed")
def test_bash_completes_what_is_typed(tmp_path: Path) -> None:
    typed = 'eval "$(searchmark completion bash)"; COMP_WORDS=(searchmark evaluate --agent keyw); COMP_CWORD=3; '
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    bash = ["bash", "--norc", "-c", f'{typed} _searchmark_completion searchmark; echo "${{COMPREPLY[@]}}"; complete -p searchmark']
    done = subprocess.run(bash, capture_output=True, text=True, check=True, env={**os.environ, "PATH": path}, cwd=tmp_path)
    assert done.stdout.splitlines()[0] == "keyword"
    assert "_searchmark_completion searchmark" in done.stdout
