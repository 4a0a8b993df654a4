"""A search that stays: it reads the files once, and then answers a line of JSON for each line of JSON."""
# ruff: noqa: T201  # printing is how it answers

import json
import sys
from pathlib import Path

folder = Path(sys.argv[1])
texts = {path.relative_to(folder).as_posix(): path.read_text() for path in sorted(folder.rglob("*.*"))}
print(json.dumps({"ready": True}), flush=True)
for line in sys.stdin:
    asked = json.loads(line)
    words = asked["query"].lower().split()
    scores = {path: sum(text.lower().count(word) for word in words) for path, text in texts.items()}
    best = sorted(filter(scores.get, scores), key=scores.get, reverse=True)[: asked["k"]]
    hits = [{"id": path, "score": scores[path]} for path in best]
    print(json.dumps({"id": asked["id"], "hits": hits}), flush=True)
