"""The suites that come with Searchmark, a folder each: cases, documents, config with gates, baseline, and what they are.

Private: a suite is named ``builtin:NAME`` wherever one is taken. Most folders hold data alone. One whose cases are about commits
is a package with a module ``repository``, whose ``located()`` makes or finds the repository and says it as ``NAME=PATH``.
"""
