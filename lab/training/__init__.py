"""Learning from self-play what a game's model knows: see docs/training.md."""
