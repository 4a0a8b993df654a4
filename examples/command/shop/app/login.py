"""Who may come in."""

from app.sessions import new_session


def login(user, password):
    """Start a session if the password is right."""
    return new_session(user) if user.knows(password) else None
