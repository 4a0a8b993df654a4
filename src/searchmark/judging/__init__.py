"""The only room that knows how a hit meets a judgment."""
