"""Repositories built with ``git fast-import``: one with every oddity that mining must survive, one with a long history."""

from __future__ import annotations

import random
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from searchmark.git.process import sealed_environment

START = 1_700_000_000
PERSON = "Ada Example <ada@example.org>"


@dataclass
class Script:
    """A fast-import stream under construction. Every commit gets a mark, and its name can be asked for afterwards."""

    parts: list[bytes] = field(default_factory=list)
    marks: dict[str, int] = field(default_factory=dict)

    def commit(
        self,
        name: str,
        message: str | bytes,
        changes: dict[str | bytes, str | bytes | tuple[str, str | bytes] | None],
        *,
        parent: str | None = "",
        merged: str | None = None,
        author: str = PERSON,
        encoding: str | None = None,
        branch: str = "main",
    ) -> None:
        """``parent`` is the last commit unless one is named, None for a root. A change is content, (mode, content), or None: gone."""
        text = message if isinstance(message, bytes) else message.encode()
        number = len(self.marks) + 1
        before = list(self.marks)[-1] if parent == "" and self.marks else parent
        self.marks[name] = number
        when = START + 60 * number
        lines = [
            f"commit refs/heads/{branch}",
            f"mark :{number}",
            f"author {author} {when} +0000",
            f"committer {author} {when} +0000",
        ]
        lines += [f"encoding {encoding}"] if encoding else []
        self.parts += ["\n".join(lines).encode(), b"\ndata %d\n" % len(text), text, b"\n"]
        if before:
            self.parts.append(f"from :{self.marks[before]}\n".encode())
        if merged:
            self.parts.append(f"merge :{self.marks[merged]}\n".encode())
        for path, change in changes.items():
            self._change(path, change)

    def _change(self, path: str | bytes, change: str | bytes | tuple[str, str | bytes] | None) -> None:
        quoted = _quoted(path)
        if change is None:
            self.parts.append(b"D " + quoted + b"\n")
            return
        mode, content = change if isinstance(change, tuple) else ("100644", change)
        data = content if isinstance(content, bytes) else content.encode()
        if mode == "160000":
            self.parts.append(b"M 160000 " + data + b" " + quoted + b"\n")
        else:
            self.parts.append(f"M {mode} inline ".encode() + quoted + b"\ndata %d\n" % len(data) + data + b"\n")

    def build(self, folder: Path, *, object_format: str = "sha1") -> dict[str, str]:
        """Make the bare repository; the hashes of its commits by name."""
        run(folder.parent, "init", "-q", "--bare", "-b", "main", f"--object-format={object_format}", str(folder))
        marks = folder.parent / f"{folder.name}.marks"
        command = [
            "git",
            f"--git-dir={folder}",
            "-c",
            "fastimport.unpackLimit=100000",
            "fast-import",
            "--quiet",
            "--force",
            f"--export-marks={marks}",
        ]
        subprocess.run(command, input=b"".join(self.parts), env=sealed_environment(), check=True)
        by_mark = dict(line.split() for line in marks.read_text().splitlines())
        marks.unlink()
        return {name: by_mark[f":{number}"] for name, number in self.marks.items()}


def run(folder: Path, *arguments: str, **environment: str) -> str:
    sealed = sealed_environment(GIT_ALLOW_PROTOCOL="file", **environment)
    return subprocess.run(["git", *arguments], cwd=folder, env=sealed, capture_output=True, text=True, check=True).stdout


def _quoted(path: str | bytes) -> bytes:
    raw = path if isinstance(path, bytes) else path.encode()
    if not any(char in raw for char in b'"\n\\'):
        return raw
    return b'"' + raw.replace(b"\\", b"\\\\").replace(b'"', b'\\"').replace(b"\n", b"\\n") + b'"'


def odd_history(hash_length: int = 40) -> Script:
    """Every odd thing that a history can hold; tests/data/odd_gold_set.json says what must come of it."""
    script = Script()
    add = script.commit
    login = "def login(user):\n    check(user)\n    return user\n"
    add("root", "Start of everything here", {"src/login.py": login, "src/query.py": "def ask():\n    pass\n", "README.md": "x\n",
        "src/stay.py": "keep = 1\n", "run.sh": "echo\n", "src/old_place.py": "moved = True\n", "src/blob.py": b"a\0b"}, parent=None)  # fmt: skip
    add("edit", "fix(auth): Reject blank passwords at login (#12)\n\nBlank passwords were let through silently.\n\nSigned-off-by: Ada <a@x.org>\n",
        {"src/login.py": login.replace("check(user)", "check(user, blank=False)")})  # fmt: skip
    add("docs", "Explain how sessions expire over time", {"README.md": "y\n"})
    add("tested", "Sessions expire when the clock jumps\n\n* squashed one\n* squashed two",
        {"src/stay.py": "keep = 2\n", "tests/test_stay.py": "pass\n"})  # fmt: skip
    add("created", "Write an audit trail of every session", {"src/audit.py": "trail = []\n"})
    add(
        "both", "Send the audit trail to the session store", {"src/store.py": "store = {}\n", "src/audit.py": "trail = ['store']\n"}
    )
    add("moved", "Give the moved module a better home and use it",
        {"src/old_place.py": None, "src/new_place.py": "moved = True\n", "src/query.py": "def ask():\n    moved\n"})  # fmt: skip
    add(
        "renamed",
        "Let the query module speak to its neighbours",
        {"src/query.py": None, "src/questions.py": "def ask():\n    neighbours()\n"},
    )
    add("deleted", "Forget the session store for good now", {"src/store.py": None})
    add("mode", "Make the starter script executable for everybody", {"run.sh": ("100755", "echo\n")})
    add("link", "Point a link at the login module instead", {"src/link.py": ("120000", "login.py")})
    add("type", "Turn the link into the file it meant", {"src/link.py": "linked = 1\n"})
    add("module", "Take in the neighbour as a submodule here", {"neighbour": ("160000", "1" * hash_length)})
    add("binary", "Pack the blob of bytes much tighter now", {"src/blob.py": b"a\0c"})
    add("generated", "Regenerate parser tables with fewer conflicts everywhere",
        {"src/tables.py": "# Generated by make tables, do not edit\nrows = 1\n"})  # fmt: skip
    add(
        "generated2",
        "Widen parser tables for longer rows everywhere",
        {"src/tables.py": "# Generated by make tables, do not edit\nrows = 2\n"},
    )
    odd = {b'src/quo"te.py': "q = 1\n", b"src/line\nbreak.py": "l = 1\n", b"src/caf\xe9.py": "c = 1\n", "src/ünder.py": "u = 1\n"}
    add("odd_names", "Add modules whose names nobody should type", odd)
    add("odd_edit", "Count quotes and breaks in names correctly", {path: text.replace("1", "2") for path, text in odd.items()})
    add("latin", "Gru\xdf an alle Leser der Sitzung".encode("latin-1"), {"src/stay.py": "keep = 3\n"}, encoding="ISO-8859-1")
    add("lying", b"Greet readers of the caf\xe9 with a menu", {"src/stay.py": "keep = 4\n"})
    add("colon", ":100644 looks like a change and is a message\n\n\x01 and this as well\n", {"src/stay.py": "keep = 5\n"})
    add("bot", "Refresh pinned hashes in the login module", {"src/login.py": login}, author="depend[bot] <bot@example.org>")
    add(
        "abbott",
        "Refuse passwords that equal the user name",
        {"src/login.py": login + "# refuse\n"},
        author="Lou Abbott <abbott@example.org>",
    )
    add("revert", 'Revert "Refuse passwords that equal the user name"', {"src/login.py": login})
    add("short", "more fixes", {"src/login.py": login + "# more\n"})
    add("again", "Sessions expire when the clock jumps", {"src/stay.py": "keep = 6\n"})
    add("side1", "Rate limit repeated login attempts per address", {"src/login.py": login + "# limit\n"}, branch="side")
    add("side2", "Tell the user how long the limit lasts", {"src/login.py": login + "# limit 2\n"}, branch="side")
    add("main1", "Keep three copies of the backup file", {"src/stay.py": "keep = 7\n"}, parent="again")
    add("pull", "Merge pull request #77 from ada/side\n\nLimit login attempts and say for how long", {"src/login.py": login + "# limit 2\n"},
        parent="main1", merged="side2")  # fmt: skip
    add("empty", "Nothing at all is changed by this", {})
    add("renames", "Shuffle the modules into a package of their own", {
        "src/stay.py": None, "pkg/stay.py": "keep = 7\n", "src/audit.py": None, "pkg/audit.py": "trail = ['store']\n",
        "src/new_place.py": None, "pkg/new_place.py": "moved = True\n"})  # fmt: skip
    add("wide", "Rename a word in every single module", {f"wide/file_{n}.py": "w = 1\n" for n in range(60)})
    return script


def malformed_commit(folder: Path, parent: str) -> str:
    """A commit without an author on top of a branch: git's own tools refuse to write one, so the object is written raw."""
    tree = run(folder, "rev-parse", f"{parent}^{{tree}}").strip()
    body = f"tree {tree}\nparent {parent}\ncommitter X <x@x> nonsense\n\nThis commit has no author at all\n"
    done = subprocess.run(["git", "hash-object", "-t", "commit", "-w", "--literally", "--stdin"], cwd=folder, input=body.encode(),
                          env=sealed_environment(), capture_output=True, check=True)  # fmt: skip
    commit = done.stdout.decode().strip()
    run(folder, "update-ref", "refs/heads/main", commit)
    return commit


VERBS = ("reject", "limit", "cache", "parse", "render", "store", "encode", "resolve", "retry", "validate")
NOUNS = ("session", "token", "header", "query", "cursor", "template", "index", "password", "socket", "schema")


def long_history(commits: int, files: int = 2_000, seed: int = 7) -> Iterator[bytes]:
    """A fast-import stream of a long plain history. As in life, two of five commits touch only tests or docs, and some are junk."""
    chance = random.Random(seed)
    code = [f"src/pkg_{n % 40}/module_{n}.py" for n in range(files)]
    other = [f"tests/pkg_{n % 40}/test_module_{n}.py" if n % 2 else f"docs/page_{n}.rst" for n in range(files)]
    for number in range(1, commits + 1):
        words = f"{chance.choice(VERBS)} the {chance.choice(NOUNS)} of a {chance.choice(NOUNS)} number {number}"
        message = (words if number % 10 else "fix typo") + ("\n\nIt used to fail in rare cases.\n" if number % 3 else "\n")
        yield (f"commit refs/heads/main\ncommitter {PERSON} {START + number} +0000\ndata {len(message)}\n{message}").encode()
        for path in chance.sample(other if number % 5 in (1, 3) else code, chance.choice((1, 1, 1, 2, 3, 5))):
            content = f"value = {number}\n# {path}\n"
            yield f"M 100644 inline {path}\ndata {len(content)}\n{content}\n".encode()
