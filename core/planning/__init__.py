"""Understanding a question: the Planner port, rules without a model, and a model behind an endpoint."""
