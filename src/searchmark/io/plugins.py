"""Code by its name: what a user names, what tables of ours name, and what installed packages add by entry points."""

from __future__ import annotations

import difflib
import sys
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, redirect_stdout
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pathlib import Path
from threading import RLock
from typing import TYPE_CHECKING, Any, Literal

from searchmark.errors import PluginWarning, UsageError, shortened
from searchmark.io.paths import user_path

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint


def import_object(module: str, attribute: str) -> Any:
    """What an attribute of a module, or of a ``.py`` file, is; importing it runs whatever its module does."""
    value = _import_user_module(module)
    for part in attribute.split("."):
        value = _attribute(value, part)
    return value


def _attribute(holder: Any, name: str) -> Any:
    """What has this name in a module or class; where nothing has, what is nearest is named."""
    if not hasattr(holder, name):
        public = [each for each in dir(holder) if not each.startswith("_") and callable(getattr(holder, each, None))]
        near = difflib.get_close_matches(name, public, 2)
        hint = f"did you mean {' or '.join(near)}?" if near else f"it has {shortened(', '.join(public), 200) or 'nothing to call'}"
        raise AttributeError(f"{getattr(holder, '__name__', holder)!r} has no attribute {name!r}; {hint}")
    return getattr(holder, name)


def _import_user_module(name: str) -> Any:
    """A module that the user has named, from the working directory if it is there, or by the file that it is in."""
    if name.endswith(".py"):
        from importlib.util import module_from_spec, spec_from_file_location

        path = user_path(name).resolve()
        if not path.is_file():
            raise LookupError(f"there is no file {name}")  # a mistake in the name, and nothing that a machine may lack
        _add_to_path(path.parent)
        existing_module = sys.modules.get(path.stem)
        if existing_module is not None and getattr(existing_module, "__file__", None) == str(path):
            return existing_module  # a second copy would have classes of its own, which pickle refuses
        spec = spec_from_file_location(path.stem, path)
        assert spec is not None and spec.loader is not None  # noqa: S101, PT018  # any .py file has both
        module = module_from_spec(spec)
        sys.modules[path.stem] = module
        with _no_bytecode():
            spec.loader.exec_module(module)
        return module
    _add_to_path(Path.cwd())
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


def _add_to_path(folder: Path) -> None:
    if str(folder) not in sys.path:
        sys.path.insert(0, str(folder))


# Code by its name: ``module:attribute``, imported when it is used. Tables of formats and optional features name code so.


def load_code(reference: str) -> Any:
    """What ``module:attribute`` names."""
    module, _, attribute = reference.partition(":")
    return getattr(import_module(module), attribute)


# Plug-ins: what installed packages declare under entry points such as ``searchmark.embedders``. A name of ours goes first.

PluginKind = Literal["agents", "checks", "embedders", "formats", "indexes", "measures", "presets", "renderers"]


@dataclass(frozen=True)
class PluginGroup:
    """What is known of the plug-ins of a kind: what they must be, and where those of ours are, whose names go first."""

    word: str
    ours: tuple[str, ...] = ()  # module:attribute of what contains their names
    instance_of: str | None = None
    subclass_of: str | None = None

    def problem(self, value: Any) -> str | None:
        """Why this is no such thing; None if it is. An agent may be anything that searches."""
        if self.subclass_of is not None and not (isinstance(value, type) and issubclass(value, load_code(self.subclass_of))):
            return f"is not a subclass of {self.subclass_of.replace(':', '.')}"
        if self.instance_of is not None and not isinstance(value, load_code(self.instance_of)):
            return f"is not an object of {self.instance_of.replace(':', '.')}"
        return None


PLUGIN_GROUPS: dict[PluginKind, PluginGroup] = {
    "agents": PluginGroup("agent", ("searchmark.config.agents:BUILT_IN",)),
    "checks": PluginGroup("check", instance_of="searchmark.audit.check:Check"),
    "embedders": PluginGroup(
        "embedder", ("searchmark.agents.vectors:EMBEDDERS",), subclass_of="searchmark.agents.vectors.embedder:EmbedderSettings"
    ),
    "formats": PluginGroup(
        "format",
        ("searchmark.formats:SUITE_FORMATS", "searchmark.formats:RUN_FORMATS", "searchmark.formats:CORPUS_FORMATS"),
        instance_of="searchmark.formats:Format",
    ),
    "indexes": PluginGroup(
        "index", ("searchmark.agents.vectors:INDEXES",), subclass_of="searchmark.agents.vectors.index:IndexSettings"
    ),
    "measures": PluginGroup(
        "measure",
        ("searchmark.measures.catalogue:DEFINITIONS",),
        instance_of="searchmark.measures.definition:MeasureDefinition",
    ),
    "presets": PluginGroup(
        "preset", ("searchmark.agents.outside.presets:PRESETS",), instance_of="searchmark.agents.outside.presets:Engine"
    ),
    "renderers": PluginGroup(
        "renderer", ("searchmark.reports.render:RENDERERS",), instance_of="searchmark.reports.render:Renderer"
    ),
}


@dataclass(frozen=True)
class Plugin:
    """One thing that an installed package adds, not loaded yet."""

    kind: PluginKind
    name: str
    point: EntryPoint

    @property
    def package(self) -> str:
        """The name and version of the package."""
        return "unknown package" if self.point.dist is None else f"{self.point.dist.name} {self.point.dist.version}"

    def load(self) -> Any:
        """What the package adds; importing it runs whatever its module does, and what that prints is no result of ours."""
        self._refuse_forbidden()
        with _loading, redirect_stdout(sys.stderr):
            return self.point.load()

    def load_checked(self) -> Any:
        """The same if it is what its kind must be; whatever goes wrong is one sentence."""
        self._refuse_forbidden()
        try:
            value = self.load()
        except (Exception, SystemExit) as error:  # code of others: whatever goes wrong there ends no command of ours
            reason = shortened(f"{type(error).__name__}: {error}", 300)
            raise self._error(f"{self.point.value} cannot be loaded ({reason})") from error
        wrong = PLUGIN_GROUPS[self.kind].problem(value)
        if wrong is not None:
            raise self._error(f"{self.point.value} {wrong}")
        return value

    @property
    def shadowed_by(self) -> str | None:
        """Who has the same name and goes first: ourselves, or another package."""
        if any(self.name in load_code(ours) for ours in PLUGIN_GROUPS[self.kind].ours):
            return "Searchmark"
        first = find_plugin(self.kind, self.name)
        return None if first is None or first == self else first.package

    def _refuse_forbidden(self) -> None:
        if _prohibitions:
            raise UsageError(f"{self.name!r} is a plug-in ({self.package}), and --no-exec allows none")

    def _error(self, reason: str) -> UsageError:
        return UsageError(f"the plug-in {self.name!r} ({self.kind}, {self.package}) is not used: {reason}")


_loading = RLock()  # files are read in threads: each plug-in is loaded by one, and stdout is that of the process

_prohibitions: list[None] = []  # one for each caller that forbids plug-ins; they may overlap


@contextmanager
def plugins_forbidden() -> Iterator[None]:
    """No plug-in is loaded meanwhile, as ``--no-exec`` wants it."""
    _prohibitions.append(None)
    try:
        yield
    finally:
        _prohibitions.pop()


def installed_plugins(kind: PluginKind) -> tuple[Plugin, ...]:
    """What installed packages declare of a kind, by name. Nothing is loaded."""
    return _plugins_on_path(kind, tuple(sys.path))


@cache
def _plugins_on_path(kind: PluginKind, path: tuple[str, ...]) -> tuple[Plugin, ...]:
    """The same for a path on which packages are, which may change: code of the user's own is found through it."""
    del path
    from importlib.metadata import entry_points

    points = sorted(entry_points(group=f"searchmark.{kind}"), key=lambda point: (point.name, point.value))
    return tuple(Plugin(kind, point.name, point) for point in points)


def find_plugin(kind: PluginKind, name: str) -> Plugin | None:
    """The first plug-in of this name, not loaded."""
    return next((plugin for plugin in installed_plugins(kind) if plugin.name == name), None)


def plugins(kind: PluginKind) -> Mapping[str, Any]:
    """What plug-ins of a kind add, loaded, by name; nothing where they are forbidden. One that is broken is left out."""
    with _loading:
        return {} if _prohibitions else _load_plugins(kind, tuple(sys.path))


@cache
def _load_plugins(kind: PluginKind, path: tuple[str, ...]) -> Mapping[str, Any]:
    found: dict[str, Any] = {}
    for plugin in _plugins_on_path(kind, path):
        try:
            if plugin.name not in found:
                found[plugin.name] = plugin.load_checked()
        except UsageError as error:
            warnings.warn(str(error), PluginWarning, stacklevel=3)
    return found
