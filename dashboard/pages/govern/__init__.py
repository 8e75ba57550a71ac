"""The Govern page: the policy for agents, calls that wait for an approval, budgets, clients and their tokens."""
