"""What a seat can infer in Gin Rummy, and how it plays."""
