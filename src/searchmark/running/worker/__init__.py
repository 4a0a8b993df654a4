"""The process that an agent lives in, and what is said between it and the runner."""
