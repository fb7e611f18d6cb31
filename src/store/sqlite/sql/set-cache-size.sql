PRAGMA cache_size = -2048
