"""Logs counted where they live, by any engine that speaks SQL; only counts are brought home."""
