"""What keeps an agent away from everything it does not need: environment, view of the files, and who enforces both."""
