SELECT seq, count, checksum FROM records
WHERE id >= ($session << 32) AND id < (($session + 1) << 32)
  -- In a damaged tree other rows may stand between those. A sum, since for a bare parameter SQLite plans again for each value.
  AND session = $session + 0
ORDER BY id DESC
LIMIT 1
