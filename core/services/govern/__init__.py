"""Clients, permissions, budgets and approvals."""
