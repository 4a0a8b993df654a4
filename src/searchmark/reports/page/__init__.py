"""A report as one HTML file that needs no network and no server."""
