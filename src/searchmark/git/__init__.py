"""Git repositories: log, trees, objects, work trees and clones, all through git as a child process.

Internal: the names for others are those of `searchmark`.
"""
