SELECT seq, count, checksum FROM records
WHERE id >= ($session << 32) AND id <= ($session << 32) + $seq AND session = $session
ORDER BY id DESC
LIMIT 1
