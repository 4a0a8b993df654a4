"""Work on other processes: of this machine, of a Dask cluster, or of any concurrent.futures.Executor.

Internal: the names for others are those of `searchmark`.
"""
