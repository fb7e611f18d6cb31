PRAGMA busy_timeout = 5000
