"""What a seat can infer in Castle Rampage, and how it plays."""
