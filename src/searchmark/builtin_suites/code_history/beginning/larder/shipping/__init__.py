"""Bringing orders to people."""
