"""Click models: simulate users, fit models to logs, score and test them."""
