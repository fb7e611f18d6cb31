INSERT INTO sqlite_sequence (name, seq) VALUES ('sessions', $seq)
