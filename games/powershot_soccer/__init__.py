"""PowerShot Soccer."""
