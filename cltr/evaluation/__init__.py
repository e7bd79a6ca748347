"""What a policy is worth and what it may cost: metrics, certificate, off-policy estimates."""
