"""Click logs: import logs from elsewhere, clean and count them, merge them, store them."""
