INSERT INTO records (session, seq, count, type, time, body, checksum)
VALUES ($session, $seq, $count, $type, $time, $body, $checksum)
