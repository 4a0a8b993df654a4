"""A key of the environment is in the request and nowhere else: no error, description, log, file or report has it."""

from __future__ import annotations

import gzip
import json
import logging
import os
import subprocess
import sys
import traceback
from pathlib import Path

import pytest

from searchmark import SearchmarkError
from tests.agents.outside.conftest import Make
from tests.support.hostile_http import Peer

KEY = "Zx9-planted/secret+value=7Qw"
VARIABLE = "SEARCH_API_KEY"
CASE = {"id": "1", "query": "red", "judgments": [{"target": "red.txt"}]}


def test_a_key_may_be_in_every_part_of_a_request(agent: Make, peer: Peer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, KEY)
    key = f"${{{VARIABLE}}}"
    agent(f"/good/x?a={key}", parameters={"q": "{query}", "b": key}, headers={"X-Key": key}).retrieve("red", 2)
    agent("/good/x", body={"q": "{query}", "token": key}).retrieve("red", 2)
    agent("/good/x", form={"q": "{query}", "token": key}, headers={"Authorization": f"Bearer {key}"}).retrieve("red", 2)
    url, body, form = peer.heard
    assert (url.parameters, url.headers["x-key"]) == ({"a": KEY, "b": KEY, "q": "red"}, KEY)
    assert json.loads(body.body)["token"] == form.form["token"] == KEY
    assert form.headers["authorization"] == f"Bearer {KEY}"


def test_user_and_password_of_an_address_are_sent_as_a_header(agent: Make, peer: Peer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PASSWORD", "p@ss/w:rd")
    made = agent(peer.url.replace("://", "://elastic:${PASSWORD}@") + "/good/{query}")
    made.retrieve("red", 2)
    assert peer.heard[0].headers["authorization"] == "Basic ZWxhc3RpYzpwQHNzL3c6cmQ="
    assert made.describe()["url"] == f"{peer.url}/good/{{query}}"


def test_an_address_may_come_from_the_environment(agent: Make, peer: Peer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SERVICE", peer.url)
    monkeypatch.setenv("HOST", peer.url.removeprefix("http://"))
    monkeypatch.setenv("FOLDER", "good/deep er")
    agent("${SERVICE}/good/{query}").retrieve("red", 2)
    agent("http://${HOST}/${FOLDER}/{query}").retrieve("red", 2)
    assert [each.target for each in peer.heard] == ["/good/red", "/good/deep%20er/red"]


@pytest.mark.parametrize("behaviour", ["quotes", "page", "storm", "cut", "away", "other-shape"])
def test_no_secret_is_in_an_error_a_log_or_a_traceback(
    agent: Make, peer: Peer, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, behaviour: str
) -> None:
    caplog.set_level(logging.DEBUG)
    monkeypatch.setenv(VARIABLE, KEY)
    key = f"${{{VARIABLE}}}"
    body, headers = {"q": "{query}", "key": key}, {"Authorization": f"Bearer {key}"}
    made = agent(f"/{behaviour}/{key}?q={{query}}&sig={key}", headers=headers, body=body)
    with pytest.raises(SearchmarkError) as caught:
        made.retrieve("red", 2)
    assert peer.heard[0].headers["authorization"] == f"Bearer {KEY}"
    told = f"{caught.value!r} {''.join(traceback.format_exception(caught.value))} {caplog.text} {made.describe()} {made!r}"
    assert [piece for piece in ("planted", "secret+value", "secret%2B", "7Qw") if piece in told] == []
    assert behaviour != "quotes" or '400 "/quotes/(removed)?q=red&sig=(removed)' in str(caught.value)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"headers": {"Authorization": "Bearer abc"}}, "headers.Authorization holds a secret"),
        ({"headers": {"Authorization": "Bearer abc"}}, "put it into an environment variable and write Bearer ${MY_AUTHORIZATION}"),
        ({"headers": {"X-Api-Key": "abc"}}, "write ${MY_X_API_KEY}"),
        ({"headers": {"X-Team": "sk-abcdefghijklmnop1234567"}}, "headers.X-Team holds a secret"),
        ({"parameters": {"api_key": "abc"}}, "parameters.api_key holds a secret"),
        ({"form": {"password": "abc"}}, "form.password holds a secret"),
        ({"body": {"auth": {"token": "abc"}}}, "body.auth.token holds a secret"),
        ({"path": "http://me:hidden@127.0.0.1/{query}"}, "url holds a secret"),
        ({"path": "/good?api_key=hidden&q={query}"}, "url holds a secret"),
    ],
)
def test_a_key_in_the_config_is_refused_with_how_to_write_it(agent: Make, options: dict, said: str) -> None:
    with pytest.raises(SearchmarkError) as caught:
        agent(**options)
    assert said in str(caught.value)
    assert "abc" not in str(caught.value)
    assert "hidden" not in str(caught.value)


@pytest.mark.slow
def test_the_command_tells_the_service_a_key_and_no_file(peer: Peer, tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "red.txt").write_text("red")
    (tmp_path / "suite.json").write_text(json.dumps({"schema_version": 1, "cases": [CASE]}))
    (tmp_path / "c.yaml").write_text(f"""
agents:
  - name: svc
    source: http
    env: [{VARIABLE}]
    config:
      url: {peer.url}/good/search
      headers: {{Authorization: "Bearer ${{{VARIABLE}}}"}}
      parameters: {{q: "{{query}}"}}
      results: {{hits: hits, cost: cost, tokens: tokens}}
  - name: bad
    source: http
    env: [{VARIABLE}]
    config:
      url: {peer.url}/quotes/${{{VARIABLE}}}/search
      headers: {{Authorization: "Bearer ${{{VARIABLE}}}"}}
      parameters: {{q: "{{query}}"}}
""")
    environment = {**os.environ, VARIABLE: KEY}
    told = ""
    for name in ("svc", "bad"):
        words = ["evaluate", "--gold-set", "suite.json", "--config", "c.yaml", "--agent", name, "--corpus", "docs"]
        written = [
            "-o",
            f"{name}.json",
            "-o",
            f"{name}.html",
            "--save-run",
            f"{name}.jsonl",
            "--archive-folder",
            "kept",
            "--archive",
        ]
        done = subprocess.run(
            [sys.executable, "-m", "searchmark", *words, *written],
            cwd=tmp_path, env=environment, capture_output=True, text=True, check=False,
        )  # fmt: skip
        told += done.stdout + done.stderr
    assert {each.headers["authorization"] for each in peer.heard} == {f"Bearer {KEY}"}
    assert "did not answer as it should: 400" in (tmp_path / "bad.jsonl").read_text()
    assert f'"Authorization": "Bearer ${{{VARIABLE}}}"' in (tmp_path / "bad.jsonl").read_text()
    files = [path for path in tmp_path.rglob("*") if path.is_file()] + list(Path(os.environ["SEARCHMARK_CACHE"]).rglob("*.*"))
    said = told.encode() + b"".join(
        gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes() for path in files
    )
    assert len(files) >= 6
    assert [piece for piece in (b"planted", b"secret+value", b"secret%2Bvalue") if piece in said] == []
