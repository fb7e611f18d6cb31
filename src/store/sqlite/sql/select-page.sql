SELECT seq, count, type, time, body, sources, checksum FROM records
WHERE id >= ($session << 32) + $from AND id < (($session + 1) << 32)
ORDER BY id
LIMIT $limit
