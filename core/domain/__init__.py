"""Frozen types that every room shares. No I/O."""
