"""Services over HTTP: one client for all that ask a service, and what they share."""
