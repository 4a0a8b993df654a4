"""Vectors to neighbours."""
