"""A run: its configuration, components, data and folder, and the order of its stages."""
