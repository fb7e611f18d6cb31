INSERT OR REPLACE INTO records (id, count, type, time, body, sources, checksum, frame)
VALUES (($session << 32) + $seq, $count, $type, $time, $body, $sources, $checksum, $frame)
