"""The text of a config file becomes plain data: YAML, TOML, or the table ``[tool.searchmark]`` of a project file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from searchmark.files.toml_files import parse_toml

PROJECT_FILE = "pyproject.toml"


def parse_config(file: Path, text: str) -> Any:
    """The plain data; that of an empty file is empty."""
    content = _parsed_toml(file, text) if file.suffix.lower() == ".toml" else _parsed_yaml(file, text)
    return {} if content is None else content


def project_section(project: dict[str, Any]) -> Any:
    """What a project file says about us."""
    tool = project.get("tool")
    return tool.get("searchmark", {}) if isinstance(tool, dict) else {}


def _parsed_yaml(file: Path, text: str) -> Any:
    from searchmark.files.yaml_files import parse_yaml

    return parse_yaml(file, text, numbers=True)


def _parsed_toml(file: Path, text: str) -> Any:
    data = parse_toml(file, text)
    return project_section(data) if file.name == PROJECT_FILE else data
