"""What a seat can infer in PowerShot Soccer, and how it plays."""
