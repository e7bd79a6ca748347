"""What several commands share: options, output, progress bars, the page of help texts."""
