"""Tokens of what a tool says: the currency of assistants that read it.

Counted by the tokenizer in wordllama's wheel, which is that of Llama 2: any model has its own, and numbers of different
tokenizers are not to be compared. So its name is always beside the number.
"""

from __future__ import annotations

from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from searchmark.agents.agent import Usage
from searchmark.embedders.wordllama import WEIGHTS, tokenizer_file
from searchmark.errors import UsageError
from searchmark.files.text_encoding import encodable

COUNTED_BY = f"wordllama {WEIGHTS} tokenizer"
STATED = "the server"


def counted(text: str) -> Usage:
    """How many tokens a text is of. That takes milliseconds, and is to be asked when no clock runs."""
    encoded = tokenizer().encode_batch_fast([encodable(text)], add_special_tokens=False)
    return Usage(tokens=len(encoded[0]), tokens_by=COUNTED_BY)


def problem() -> str | None:
    """Why tokens cannot be counted here; None if they can."""
    spec = find_spec("wordllama")
    if spec is None or spec.origin is None or not tokenizer_file(Path(spec.origin).parent).is_file():
        return "tokens are counted by the tokenizer of wordllama, which is not installed: pip install 'wordllama==0.4.0.post1'"
    return None


@cache
def tokenizer() -> Any:
    """The tokenizer of wordllama, which pads and cuts nothing."""
    reason = problem()
    if reason is not None:
        raise UsageError(reason)
    from tokenizers import Tokenizer

    spec = find_spec("wordllama")
    assert spec is not None and spec.origin is not None  # noqa: S101, PT018  # seen above
    loaded = Tokenizer.from_file(str(tokenizer_file(Path(spec.origin).parent)))
    loaded.no_padding()
    loaded.no_truncation()
    return loaded
