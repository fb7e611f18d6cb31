PRAGMA busy_timeout = 0
