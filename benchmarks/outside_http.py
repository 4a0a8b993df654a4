"""What an http agent keeps of its client's speed: searches per second through the runner's worker, and in a bare loop of httpx.

Both ask the same server, which is in a process of its own and has its answer ready, for the same: a POST with a JSON body, an answer
with ten hits as Elasticsearch gives them. The rate of the agent is that of its latency samples, and beside it that of the clock on
the wall around the whole command, start, judging and report included. Rounds alternate, so that both see the same machine; `CASES`
and `BLOCKS_PER_SLOT` are taken from the command line.
"""

from __future__ import annotations

import asyncio
import json
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import httpx

BAR = 0.8
HITS = [{"_id": f"doc-{place}.txt", "_score": 10 - place / 10, "_source": {"title": f"document {place}"}} for place in range(10)]
ANSWER = json.dumps({"took": 1, "hits": {"total": {"value": 1000}, "hits": HITS}}).encode()


class Answering(asyncio.Protocol):
    """Answers every request with the same bytes."""

    response = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%b" % (len(ANSWER), ANSWER)

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport, self.heard = transport, b""

    def data_received(self, data: bytes) -> None:
        self.heard += data
        head, end, rest = self.heard.partition(b"\r\n\r\n")
        if end and len(rest) >= (length := int(head.lower().partition(b"content-length:")[2].split(b"\r\n")[0] or 0)):
            self.heard = rest[length:]
            self.transport.write(self.response)  # type: ignore[attr-defined]  # of a socket, so it can be written to


async def serve() -> None:
    server = await asyncio.get_running_loop().create_server(Answering, "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


def server_alone(port: int, searches: int) -> float:
    """Seconds of so many requests over a plain socket: how fast the server is."""
    request = b"POST / HTTP/1.1\r\nContent-Length: 2\r\n\r\n{}"
    with socket.create_connection(("127.0.0.1", port)) as connection:
        start = time.perf_counter()
        for _ in range(searches):
            connection.sendall(request)
            connection.recv(1 << 16)
        return time.perf_counter() - start


def bare(url: str, queries: list[str]) -> float:
    """Seconds of the same searches in a loop."""
    with httpx.Client() as client:
        client.post(url, json={})  # the connection is open, as it is after the search that warms an agent up
        start = time.perf_counter()
        for query in queries:
            found = client.post(url, json={"query": {"match": {"text": query}}, "size": 10}).json()
            [(hit["_id"], hit["_score"]) for hit in found["hits"]["hits"]]
        return time.perf_counter() - start


def command(folder: Path) -> tuple[float, float]:
    """Seconds of a whole command, and the sum of its latency samples."""
    words = ["evaluate", "--gold-set", "suite.json", "--config", "c.yaml", "--agent", "svc", "--no-archive"]
    options = ["--num-runs", "1", "--depth", "10", "--save-run", "run.jsonl"]
    start = time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-m", "searchmark", *words, *options], cwd=folder, capture_output=True, text=True, check=False
    )
    elapsed = time.perf_counter() - start
    if done.returncode:
        raise SystemExit(done.stdout + done.stderr)
    answers = [json.loads(line) for line in (folder / "run.jsonl").read_text().splitlines()[1:]]
    return elapsed, sum(sum(answer["details"]["cold_ms"]) for answer in answers if "details" in answer) / 1000


def prepare(folder: Path, url: str, queries: list[str]) -> None:
    cases = [{"id": str(number), "query": query, "judgments": [{"target": "doc-0.txt"}]} for number, query in enumerate(queries)]
    (folder / "suite.json").write_text(json.dumps({"schema_version": 1, "cases": cases}))
    config = {"url": url, "body": {"query": {"match": {"text": "{query}"}}, "size": "{k}"}, "results": {"hits": "hits.hits"}}
    (folder / "c.yaml").write_text(json.dumps({"agents": [{"name": "svc", "source": "http", "config": config}]}))


def measure(url: str, cases: int, rounds: int) -> tuple[float, float]:
    """What is kept of the bare loop, by the latency samples and by the clock around the whole command."""
    queries = [f"words of query {number}" for number in range(cases)]
    with tempfile.TemporaryDirectory() as folder:
        prepare(Path(folder), url, queries)
        taken = [(bare(url, queries), *command(Path(folder))) for _ in range(rounds)]
    loop, whole, samples = (cases / statistics.median(column) for column in zip(*taken, strict=True))
    ratios = [looped / sampled for looped, _, sampled in taken]
    print(f"{cases} searches, {rounds} rounds, medians")
    print(f"  the server, plain socket  {cases / server_alone(httpx.URL(url).port or 80, cases):8.0f} searches per second")
    print(f"  httpx in a bare loop      {loop:8.0f} searches per second")
    print(
        f"  http, latency samples     {samples:8.0f}   {statistics.median(ratios):.2f} of it (rounds: {min(ratios):.2f} to {max(ratios):.2f})"
    )
    of_whole = statistics.median(looped / each for looped, each, _ in taken)
    print(f"  http, the whole command   {whole:8.0f}   {of_whole:.2f} of it")
    return statistics.median(ratios), of_whole


def main() -> None:
    if sys.argv[1:] == ["--serve"]:
        asyncio.run(serve())
    cases, rounds = (int(each) for each in (*sys.argv[1:], *("3000", "3")[len(sys.argv) - 1 :]))
    server = subprocess.Popen([sys.executable, __file__, "--serve"], stdout=subprocess.PIPE, text=True)
    try:
        assert server.stdout is not None
        kept, of_whole = measure(f"http://127.0.0.1:{server.stdout.readline().strip()}/docs/_search", cases, rounds)
    finally:
        server.kill()
        server.wait()
    verdicts = ["met" if each >= BAR else "MISSED" for each in (kept, of_whole)]
    print(f"bar: {BAR:.2f} of the bare loop; by latency samples {verdicts[0]}, by the whole command {verdicts[1]}")
    sys.exit(kept < BAR)


if __name__ == "__main__":
    main()
