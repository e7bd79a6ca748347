"""Files on disk: atomic writing, checked reading, fingerprints."""
