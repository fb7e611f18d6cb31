PRAGMA journal_mode = OFF
