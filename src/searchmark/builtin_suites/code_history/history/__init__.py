"""What happened after the first commit, period by period."""

from searchmark.builtin_suites.code_history.history import autumn_2023, autumn_2024, spring_2023, spring_2024, summer_2023

COMMITS = (*spring_2023.COMMITS, *summer_2023.COMMITS, *autumn_2023.COMMITS, *spring_2024.COMMITS, *autumn_2024.COMMITS)
