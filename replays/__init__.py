"""Counterfactual replays: a decision's turn asked again, with and without a post in its prompt."""
