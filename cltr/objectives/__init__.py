"""What training maximises: the core's own rewards and estimators."""
