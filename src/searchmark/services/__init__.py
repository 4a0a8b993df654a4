"""Clients for services over HTTP."""
