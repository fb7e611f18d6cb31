PRAGMA locking_mode = EXCLUSIVE
