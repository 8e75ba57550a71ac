"""Widgets that own their session keys."""
