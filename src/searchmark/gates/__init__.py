"""What a run must meet: rules become a verdict, and say beforehand what they could see.

Private: what is meant for others is a name of `searchmark`.
"""
