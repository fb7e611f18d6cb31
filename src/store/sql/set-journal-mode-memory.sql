PRAGMA journal_mode = MEMORY
