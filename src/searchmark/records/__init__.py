"""The records that the pipeline passes along. Names are imported on first use, so that agents' processes stay light.

Internal: the names for others are those of `searchmark`.
"""
