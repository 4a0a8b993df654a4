"""What the gate can see."""
