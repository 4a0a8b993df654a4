"""Tests that need real models: `make test-models`. What is missing is a failure here, never a skip."""
