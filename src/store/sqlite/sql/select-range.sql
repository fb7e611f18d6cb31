SELECT seq, count, type, time, body, sources, checksum FROM records
WHERE id >= ($session << 32) + $first AND id <= ($session << 32) + $last AND session = $session
ORDER BY id
