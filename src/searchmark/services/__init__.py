"""Services over HTTP: one client that all who ask a service stand on, and what they share."""
