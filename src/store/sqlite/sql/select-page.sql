SELECT seq, count, type, time, body, sources, checksum FROM records
WHERE id >= ($session << 32) + $from AND id < (($session + 1) << 32)
  -- In a damaged tree other rows may stand between those.
  AND session = $session
ORDER BY id
LIMIT $limit
