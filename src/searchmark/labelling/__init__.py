"""Grades from what a catalogue says about its items: the rules, samples for people, and how far both agree.

Private: what is meant for others is the verb ``searchmark label``.
"""
