"""What the messages of a game are made with: fields by their names, views as bytes."""
