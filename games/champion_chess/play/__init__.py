"""What a seat can infer in Champion Chess, and how it plays."""
