SELECT seq FROM records
WHERE id >= ($session << 32) + $from AND id <= ($session << 32) + 4294967295 AND session = $session
ORDER BY id
LIMIT 1
