"""Learn a scorer: the training loop, its batches, the scorers and the exact ranker."""
