"""The process an agent runs in, and what it and the runner say to each other."""
