"""From judged hits to verdicts: scores, intervals, paired statistics, comparisons, decisions and gates."""
