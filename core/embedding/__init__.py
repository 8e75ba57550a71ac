"""Text to unit vectors: the encoders, their cache on disk, and the cache of vectors."""
