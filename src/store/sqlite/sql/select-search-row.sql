SELECT checksum FROM records
WHERE id >= ($session << 32) AND id <= ($session << 32) + $seq
ORDER BY id DESC
LIMIT 1
