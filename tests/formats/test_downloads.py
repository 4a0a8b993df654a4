"""Corpora by address: downloaded once, held against the digest that was named, and never without one."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from hashlib import sha256
from pathlib import Path

import pytest

from searchmark import SearchScope, Suite, UsageError, load_corpus
from searchmark.errors import ServiceError
from searchmark.formats.corpora import corpus
from searchmark.formats.corpora.corpus import download_corpus
from searchmark.formats.corpora.locator import locate_cases
from searchmark.io.network import network_forbidden
from searchmark.io.paths import is_address
from tests.support.file_server import FileServer, serving

CORPUS = b'{"id": "a", "text": "apple"}\n{"id": "b", "text": "pear"}\n'
DIGEST = sha256(CORPUS).hexdigest()


@pytest.fixture
def server():
    with serving({"/data/corpus.jsonl": CORPUS, "/moved": "/data/corpus.jsonl", "/a%20b.jsonl?x=1": CORPUS}) as served:
        yield served


def address(server: FileServer, path: str = "/data/corpus.jsonl", digest: str = DIGEST) -> str:
    return f"{server.address}{path}#sha256={digest}"


@pytest.mark.parametrize(
    ("text", "told"), [("https://h/x", True), ("s3://h/x", True), ("docs/x", False), ("c:/x", False), ("a=b", False)]
)
def test_an_address_is_told_from_a_path_by_its_scheme(text: str, told: bool) -> None:
    assert is_address(text) is told


def test_it_is_downloaded_once_under_its_own_name_and_digest(server: FileServer, own_cache: Path) -> None:
    file = download_corpus(address(server), network=True)
    assert file == own_cache / "downloads" / DIGEST / "corpus.jsonl"
    assert file.read_bytes() == CORPUS
    assert download_corpus(address(server, digest=DIGEST.upper()), network=False) == file
    assert len(server.asked) == 1


def test_no_key_or_cookie_is_sent(server: FileServer) -> None:
    download_corpus(address(server), network=True)
    ((_, headers),) = server.asked
    assert {name.lower() for name in headers} <= {"host", "accept", "accept-encoding", "user-agent", "connection"}


def test_a_corpus_is_the_same_from_an_address_as_from_a_file(server: FileServer, tmp_path: Path) -> None:
    (tmp_path / "corpus.jsonl").write_bytes(CORPUS)
    here, there = load_corpus(tmp_path / "corpus.jsonl"), load_corpus(address(server))
    assert (there.name, there.survey.digest, list(there)) == (here.name, here.survey.digest, list(here))


def test_a_case_is_searched_in_it_under_the_name_of_the_file(server: FileServer) -> None:
    suite = Suite.from_grades({"q": {"a": 1}})
    with pytest.raises(UsageError, match="was not downloaded here before"):
        locate_cases(suite, SearchScope(corpus=address(server)))
    (location,) = locate_cases(suite, SearchScope(corpus=address(server)), network=True).values()
    assert location.identity == "folder corpus.jsonl"
    assert locate_cases(suite, SearchScope(corpus=address(server))) == {"q": location}


def test_redirects_within_the_host_are_followed_and_the_name_is_that_of_the_address(server: FileServer) -> None:
    assert download_corpus(address(server, "/moved"), network=True).name == "moved"
    assert download_corpus(address(server, "/a%20b.jsonl?x=1"), network=True).name == "a b.jsonl"


def test_another_digest_is_refused_with_both_and_nothing_is_kept(server: FileServer, own_cache: Path) -> None:
    with pytest.raises(UsageError, match=f"has the SHA-256 digest {DIGEST}, not {'0' * 64}; nothing is kept"):
        download_corpus(address(server, digest="0" * 64), network=True)
    assert [path.suffix for path in own_cache.rglob("*") if path.is_file()] == [".lock"]


def test_a_file_that_was_changed_since_is_downloaded_again(server: FileServer) -> None:
    file = download_corpus(address(server), network=True)
    file.write_bytes(b"forged")
    with pytest.raises(UsageError, match="was not downloaded here before, and --offline and --no-exec allow no network"):
        download_corpus(address(server), network=False)
    assert download_corpus(address(server), network=True).read_bytes() == CORPUS


def test_many_at_once_download_it_once(server: FileServer) -> None:
    with ThreadPoolExecutor(4) as pool:
        assert len(set(pool.map(lambda _: download_corpus(address(server), network=True), range(4)))) == 1
    assert len(server.asked) == 1


def test_nothing_is_asked_where_the_network_is_forbidden(server: FileServer) -> None:
    with network_forbidden(), pytest.raises(UsageError, match="was not downloaded here before"):
        load_corpus(address(server))
    assert not server.asked


def test_a_file_that_is_too_large_is_refused_and_not_kept(server: FileServer, own_cache: Path, monkeypatch) -> None:
    monkeypatch.setattr(corpus, "LARGEST_DOWNLOAD", len(CORPUS) - 1)
    with pytest.raises(ServiceError, match=f"gave more than {len(CORPUS) - 1} bytes"):
        download_corpus(address(server), network=True)
    assert not list(own_cache.rglob("*.jsonl"))


def test_a_file_that_is_not_there_is_said(server: FileServer) -> None:
    with pytest.raises(ServiceError, match=r"/nothing.jsonl did not answer as it should: 404"):
        download_corpus(address(server, "/nothing.jsonl"), network=True)


@pytest.mark.parametrize("fragment", ["", "#", "#sha256=", "#md5=0", f"#{DIGEST}", f"#sha256={DIGEST[:-1]}"])
def test_an_address_without_a_digest_is_refused_with_the_form(fragment: str) -> None:
    with pytest.raises(UsageError, match=r"names no digest, by which a corpus is known; write https://h/c.jsonl#sha256=HEX"):
        download_corpus(f"https://h/c.jsonl{fragment}", network=True)


@pytest.mark.parametrize(
    "url", ["s3://bucket/c.jsonl", "file:///c.jsonl", "https:///c.jsonl", "https://[/c.jsonl", "https://h:0/c"]
)
def test_what_cannot_be_downloaded_is_refused(url: str) -> None:
    with pytest.raises(UsageError, match=r"is not the address of a corpus; write https://host/corpus.jsonl#sha256=HEX, or a path"):
        download_corpus(f"{url}#sha256={DIGEST}", network=True)


@pytest.mark.parametrize("path", ["", "/", "/x/", "/..", "/%2e%2e", "/.hidden", "/a%00b", f"/{'x' * 300}"])
def test_an_address_that_names_no_file_is_refused(path: str) -> None:
    with pytest.raises(UsageError, match="names no file"):
        download_corpus(f"https://h{path}#sha256={DIGEST}", network=True)


@pytest.mark.parametrize("url", ["https://ada:hunter2@h/c.jsonl", "https://hunter2@h/c.jsonl", "https://h/c.jsonl?token=hunter2"])
def test_an_address_with_credentials_is_refused_and_not_shown(url: str) -> None:
    with pytest.raises(UsageError, match="holds a user, a password or a token") as caught:
        download_corpus(f"{url}#sha256={DIGEST}", network=True)
    assert "hunter2" not in str(caught.value)
