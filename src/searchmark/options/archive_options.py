"""Where reports and raw runs are kept for later: the section ``archive`` of the config file."""

from __future__ import annotations

from typing import Annotated

from searchmark.errors import UsageError
from searchmark.options.experiment_options import OUR_FOLDER
from searchmark.options.option import Option, check_fields
from searchmark.options.sensitive import WrittenFolder
from searchmark.options.strict import strict_record
from searchmark.options.user_paths import expand_paths

ARCHIVE_FOLDER = f"{OUR_FOLDER}/runs"


@strict_record
class ArchiveFolder:
    """Where the archive is."""

    directory: Annotated[WrittenFolder, Option("Folder of the archive.", ("--archive-folder",), "FOLDER")] = ARCHIVE_FOLDER

    def __post_init__(self) -> None:
        expand_paths(self, "directory")


@strict_record
class ArchiveOptions(ArchiveFolder):
    """Whether runs are archived, and where; see docs/archive.md."""

    enabled: Annotated[
        bool,
        Option(
            "Keep the report and the raw runs in the archive.",
            ("--archive/--no-archive",),
            default="runs of agents are archived, saved runs are not",
        ),
    ] = True

    def __post_init__(self) -> None:
        super().__post_init__()
        check_fields(self)
        if not self.directory:
            raise UsageError("the folder of the archive has no name; leave --archive-folder out, or name one")
