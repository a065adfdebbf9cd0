"""PowerShot Soccer in messages."""
