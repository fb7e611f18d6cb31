PRAGMA journal_size_limit = 33554432
