"""What a path holds, by its name: code, test, doc, generated, vendored, config."""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import get_args

from searchmark.config.inputs import FileSettings, PathKind
from searchmark.records.matching import compile_glob, matches_glob

FILE_KINDS: tuple[PathKind, ...] = get_args(PathKind)

_SPECIAL = re.compile(r"[*?\[{]")  # what means more than itself in a glob


def word_set(text: str) -> frozenset[str]:
    return frozenset(text.split())


_VENDORED = word_set(
    "vendor vendors vendored vendored_packages _vendor _vendored third_party thirdparty third-party 3rdparty node_modules "
    "bower_components extern externals site-packages"
)

_GENERATED_FOLDERS = word_set("dist generated __generated__ __pycache__ __snapshots__ .idea")

_TRANSLATED_FOLDERS = word_set("locale locales translations i18n")  # whatever in them is not code


_GENERATED_NAMES = word_set(
    "package-lock.json npm-shrinkwrap.json yarn.lock pnpm-lock.yaml poetry.lock pipfile.lock cargo.lock gemfile.lock "
    "composer.lock go.sum uv.lock bun.lockb flake.lock"
)


_GENERATED = re.compile(
    r".*(\.min\.(js|css)|\.bundle\.js|[-_.]pb2?(_grpc)?\.(py|pyi|go|cc|h|rb|js|ts)|_pb2(_grpc)?\.pyi?|\.g\.(dart|cs)|\.designer\.cs"
    r"|\.generated\.\w+|_generated\.\w+|\.lock|\.snap|\.map|\.po|\.pot|\.mo)"
)


_DOCS_FOLDERS = word_set(
    "doc docs documentation man examples example samples sample demo demos tutorial tutorials changelog changelogs"
)

_DOC_ENDINGS = word_set("md markdown mdx rst txt adoc asciidoc tex texi org pod rdoc textile man 1 3 5 7 8")


_DOC_NAMES = re.compile(
    r"(readme|licen[cs]e|copying|changelog|changes|history|news|authors|contributors|contributing|maintainers|notice|security|"
    r"todo|install|code_of_conduct|releasing|thanks|credits|upgrading|patents)(\.\w+)?"
)


_TEST_FOLDERS = word_set(
    "tests __tests__ __mocks__ spec specs e2e testdata test_data test-data testcases unittests unittest functional_tests "
    "integration_tests integration-tests regress fixtures testutils test_utils"
)


_TEST_NAMES = re.compile(
    r"(test|tests|testing|conftest)\.\w+|test[-_].*|.*[-_.](test|tests|spec|specs|unittest)\.\w+|.*(?-i:Tests?|Spec|IT)\.(java|kt|scala|cs|groovy|swift|php)",
    re.IGNORECASE,
)

_CONFIG_FOLDERS = word_set(".github .gitlab .circleci .azure .devcontainer .vscode .husky .changeset")


_CONFIG_NAMES = re.compile(
    r"(makefile|gnumakefile|dockerfile|containerfile|jenkinsfile|vagrantfile|procfile|rakefile|gemfile|podfile|brewfile|cmakelists\.txt"
    r"|meson\.build|build|build\.bazel|workspace|configure(\.ac|\.in)?|setup\.py|noxfile\.py|tasks\.py|fabfile\.py|manifest\.in"
    r"|requirements.*\.(txt|in)|constraints.*\.txt|go\.mod|.*\.config\.(js|ts|cjs|mjs)|gruntfile\.js|gulpfile\.js|build\.gradle(\.kts)?"
    r"|build\.sbt|codeowners|mix\.exs|package\.swift|\..*rc|\.[^.]+|\..*rc\.\w+)"
)


_CONFIG_ENDINGS = word_set(
    "json json5 jsonc yaml yml toml ini cfg conf properties env xml gradle cmake mk am in ac m4 spec nix bzl bazel plist "
    "editorconfig tf tfvars csproj sln vcxproj xcscheme pbxproj"
)


_CODE_ENDINGS = word_set(
    "py pyi pyx pxd pxi py-tpl c h cc cpp cxx c++ hh hpp hxx inl ipp m mm cu cuh java kt kts scala groovy clj cljs cljc go rs "
    "rb erb rake jbuilder php phtml js jsx mjs cjs ts tsx mts cts vue svelte astro coffee css scss sass less html htm xhtml "
    "jinja jinja2 j2 tmpl tpl mustache hbs ejs pug cs fs fsx vb swift dart lua pl pm r jl hs lhs ml mli elm ex exs erl hrl "
    "nim zig v sv vhd vhdl d pas pp f f90 f95 for sh bash zsh fish ps1 psm1 bat cmd awk sed sql psql plsql proto thrift "
    "graphql gql sol asm s lisp el scm rkt tcl vim ada adb ads cob cbl wat glsl hlsl frag vert metal y l yy ll g4 peg pest "
    "cr raku gd cl"
)


def classify(path: str) -> PathKind:
    """The kind of a path, first come, first served: vendored, generated, config and doc folders, test, names, endings."""
    *folders, name = path.split("/")
    folders, ending = [folder.lower() for folder in folders], _file_ending(name)
    if not _VENDORED.isdisjoint(folders):
        return "vendored"
    if _is_generated(folders, name.lower(), ending):
        return "generated"
    if not _CONFIG_FOLDERS.isdisjoint(folders):
        return "config"
    if not _DOCS_FOLDERS.isdisjoint(folders):
        return "doc"
    if _is_test(folders, name, ending):
        return "test"
    return _kind_by_name(name.lower(), ending)


def _kind_by_name(name: str, ending: str) -> PathKind:
    if _CONFIG_NAMES.fullmatch(name):
        return "config"
    if ending in _DOC_ENDINGS or (_DOC_NAMES.fullmatch(name) and ending not in _CODE_ENDINGS):
        return "doc"
    if ending in _CONFIG_ENDINGS:
        return "config"
    return "code" if ending in _CODE_ENDINGS else "other"


def _is_generated(folders: list[str], name: str, ending: str) -> bool:
    if not _GENERATED_FOLDERS.isdisjoint(folders) or name in _GENERATED_NAMES or _GENERATED.fullmatch(name):
        return True
    return not _TRANSLATED_FOLDERS.isdisjoint(folders) and ending not in _CODE_ENDINGS


def _file_ending(name: str) -> str:
    _, dot, ending = name.rpartition(".")
    return ending.lower() if dot else ""


def _is_test(folders: list[str], name: str, ending: str) -> bool:
    if not _TEST_FOLDERS.isdisjoint(folders) or _TEST_NAMES.fullmatch(name):
        return True
    if folders[:1] in (["test"], ["testing"], ["t"]):
        return True
    # Deeper down a Python package named test may be the product itself, as a framework's own test client is.
    return "test" in folders and ending != "py"


@dataclass(frozen=True)
class PathFilter:
    """Whether a path is searched: of one of these kinds, under one of the globs to include, under none to exclude.

    Nothing of a kind of condition: any path meets it. ``excluded`` are patterns in the dialect of gold sets.
    """

    kinds: tuple[str, ...] = ()
    excluded: tuple[str, ...] = ()
    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for glob in (*self.include, *self.exclude):
            compile_glob(glob)  # what is no glob is refused at once

    @classmethod
    def of(cls, choice: FileSettings) -> PathFilter:
        return cls(choice.kinds, (), choice.include, choice.exclude)

    def __call__(self, path: str) -> bool:
        if self == EVERY_PATH:
            return True
        verdict = self._known.get(path)
        if verdict is None:
            verdict = self._known[path] = self._is_chosen(path)
        return verdict

    def __reduce__(self) -> tuple[type[PathFilter], tuple[tuple[str, ...], ...]]:
        return PathFilter, (self.kinds, self.excluded, self.include, self.exclude)

    # A walk through history meets the same paths again and again, and telling a kind takes dozens of patterns.
    @cached_property
    def _known(self) -> dict[str, bool]:
        return {}

    @cached_property
    def _is_excluded(self) -> Callable[[str], bool]:
        return exclusion_test(self.excluded)

    def _is_chosen(self, path: str) -> bool:
        if self.kinds and classify(path) not in self.kinds:
            return False
        if self._is_excluded(path) or any(matches_path(glob, path) for glob in self.exclude):
            return False
        return not self.include or any(matches_path(glob, path) for glob in self.include)


EVERY_PATH = PathFilter()


def matches_path(glob: str, path: str) -> bool:
    """Whether a glob means a path; the name of a folder, with or without a slash at its end, means everything below it."""
    if glob.endswith("/"):
        return matches_glob(f"{glob}**", path)
    if matches_glob(glob, path):
        return True
    return not _SPECIAL.search(glob) and matches_glob(f"{glob}/**" if "/" in glob else f"**/{glob}/**", path)


def escape_glob(path: str) -> str:
    """The glob that means this path alone."""
    return "./" + _SPECIAL.sub(r"[\g<0>]", path)


def exclusion_test(patterns: Iterable[str]) -> Callable[[str], bool]:
    """Whether a path falls under any pattern: without a slash it is matched with the base name, with one with the path.

    ``*`` crosses slashes, so ``docs/*`` is everything below ``docs``.
    """
    of_names = [re.compile(fnmatch.translate(pattern)) for pattern in patterns if "/" not in pattern]
    of_paths = [re.compile(fnmatch.translate(pattern)) for pattern in patterns if "/" in pattern]

    def excluded(path: str) -> bool:
        name = path.rsplit("/", 1)[-1]
        return any(pattern.match(name) for pattern in of_names) or any(pattern.match(path) for pattern in of_paths)

    return excluded
