"""What to judge next: unjudged pairs whose grades would settle a comparison soonest."""
