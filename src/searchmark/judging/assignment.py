"""Which hit is credited with which target, where a hit can mean several of them and a target can be meant by several hits.

One hit finds one target, and a target is found once. The targets found by the first k hits are those of a maximum
matching between the two, of all such matchings one with the highest grades. It grows rank by rank: a hit is credited
with the target by which it makes the matching larger, the best of them if there are several. Hits above it may mean
other targets for that, but what they were credited with stays credited: adding a hit never takes a target out of the
best matching (hits and targets are complements; Shapley, 1962). So the first k credits add up to the best that the
first k hits can reach, for every k, and no credit depends on a hit further down.
"""

from __future__ import annotations

from collections.abc import Sequence


def credited(options: Sequence[Sequence[int]], grades: Sequence[int]) -> dict[int, int]:
    """The target that each hit is credited with; hits by rank from 0, those that find nothing new are left out.

    ``options`` are the targets that each hit can mean, of equally good ones the first is preferred.
    """
    found: dict[int, int] = {}
    meant: dict[int, int] = {}  # the target that a hit means at present
    holder: dict[int, int] = {}  # the same from the other side
    closed: set[int] = set()
    for hit in range(len(options)):
        through = _within_reach(hit, options, holder, closed)
        free = [target for target in through if target not in holder]
        if not free:
            closed |= through.keys()  # nothing leads out of there, now or later: no hit needs to look again
            continue
        found[hit] = max(free, key=grades.__getitem__)
        _hand_over(found[hit], through, meant, holder)
    return found


def _within_reach(hit: int, options: Sequence[Sequence[int]], holder: dict[int, int], closed: set[int]) -> dict[int, int]:
    """The targets that can be freed or taken if this hit joins in, nearest first, and the hit that each is reached from."""
    through: dict[int, int] = {}
    hits = [hit]
    for each in hits:  # grows while it is read
        for target in options[each]:
            if target not in through and target not in closed:
                through[target] = each
                if target in holder:
                    hits.append(holder[target])
    return through


def _hand_over(target: int | None, through: dict[int, int], meant: dict[int, int], holder: dict[int, int]) -> None:
    """Give a free target to the hit that reaches it, what that hit meant so far to the next one, and so on to the new hit."""
    while target is not None:
        taker = through[target]
        holder[target] = taker
        given_up = meant.get(taker)
        meant[taker], target = target, given_up
