"""What a run answered becomes what a suite expects: proposed, decided case by case, and written into the file in place.

Private: what is meant for others is a name of `searchmark`.
"""
