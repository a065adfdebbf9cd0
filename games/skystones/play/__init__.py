"""What a seat can infer in Skystones, and how it plays."""
