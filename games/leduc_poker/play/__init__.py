"""What a seat can infer in Leduc poker, and how it plays."""
