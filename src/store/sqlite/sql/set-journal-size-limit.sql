PRAGMA journal_size_limit = 67108864
