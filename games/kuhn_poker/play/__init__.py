"""What a seat can infer in Kuhn poker, and how it plays."""
