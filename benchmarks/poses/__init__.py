"""How well turned and resized templates are found, beside another library, and how fast."""
