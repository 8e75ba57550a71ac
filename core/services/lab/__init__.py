"""Runs, sweeps, judgments, papers, replay and network scenarios."""
