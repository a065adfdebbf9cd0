"""What a seat can know of the hand of its opponent."""
