"""Taking money and giving it back."""
