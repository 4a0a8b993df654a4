"""Campaigns against hostile input, each as processes and files of their own: `make test-hostile`."""
