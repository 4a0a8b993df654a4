"""Tests of the agents that come with Searchmark."""
