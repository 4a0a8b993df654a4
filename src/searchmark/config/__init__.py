"""The config file: plain data, checked field by field, no objects.

Private: what is meant for others is a name of `searchmark`.
"""

from searchmark.config.builtin import with_builtin
from searchmark.config.loading import load_config
from searchmark.config.sections import Config, DatasetConfig, OutputConfig, RewriterConfig

__all__ = ["Config", "DatasetConfig", "OutputConfig", "RewriterConfig", "load_config", "with_builtin"]
