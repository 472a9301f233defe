"""How often each measure finds its template in real images whose tones have changed."""
