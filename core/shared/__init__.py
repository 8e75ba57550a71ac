"""Small things that every room uses: errors, settings, units, token counts, JSON Schema, untrusted text, progress.

Nothing here imports another room. Something new belongs here if two rooms need it and it knows neither of them.
"""
