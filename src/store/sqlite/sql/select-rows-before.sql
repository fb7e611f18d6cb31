SELECT seq, count, checksum FROM records
WHERE id >= ($session << 32) AND id < ($session << 32) + $seq
  -- In a damaged tree other rows may stand between those.
  AND session = $session + 0
ORDER BY id DESC
LIMIT $limit
