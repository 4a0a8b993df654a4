"""Python code that a user has named, imported into this process: ``module:attribute`` or ``file.py:attribute``."""

from __future__ import annotations

import difflib
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any

from searchmark.errors import shortened
from searchmark.options.user_paths import user_path


def named_object(module: str, attribute: str) -> Any:
    """What an attribute of a module, or of a ``.py`` file, is; importing it runs whatever its module does."""
    found = _module(module)
    for part in attribute.split("."):
        found = _part(found, part)
    return found


def _part(holder: Any, name: str) -> Any:
    """What has this name in a module or class; where nothing has, what is nearest is named."""
    if not hasattr(holder, name):
        public = [each for each in dir(holder) if not each.startswith("_") and callable(getattr(holder, each, None))]
        near = difflib.get_close_matches(name, public, 2)
        hint = f"did you mean {' or '.join(near)}?" if near else f"it has {shortened(', '.join(public), 200) or 'nothing to call'}"
        raise AttributeError(f"{getattr(holder, '__name__', holder)!r} has no attribute {name!r}; {hint}")
    return getattr(holder, name)


def _module(name: str) -> Any:
    """A module that the user has named, from the working directory if it is there, or by the file that it is in."""
    if name.endswith(".py"):
        from importlib.util import module_from_spec, spec_from_file_location

        path = user_path(name).resolve()
        if not path.is_file():
            raise FileNotFoundError(f"there is no file {name}")
        _find_modules_in(path.parent)
        known = sys.modules.get(path.stem)
        if known is not None and getattr(known, "__file__", None) == str(path):
            return known  # a second copy would have classes of its own, which pickle refuses
        spec = spec_from_file_location(path.stem, path)
        assert spec is not None and spec.loader is not None  # noqa: S101, PT018  # any .py file has both
        module = module_from_spec(spec)
        sys.modules[path.stem] = module
        with _no_bytecode():
            spec.loader.exec_module(module)
        return module
    _find_modules_in(Path.cwd())
    with _no_bytecode():
        return import_module(name)


@contextmanager
def _no_bytecode() -> Iterator[None]:
    """The code of an agent may lie in the folder that is searched, and a new folder there would be a change of it."""
    before, sys.dont_write_bytecode = sys.dont_write_bytecode, True
    try:
        yield
    finally:
        sys.dont_write_bytecode = before


def _find_modules_in(folder: Path) -> None:
    if str(folder) not in sys.path:
        sys.path.insert(0, str(folder))
