"""Between the engine's fields and the messages of the API, one module for each game."""
