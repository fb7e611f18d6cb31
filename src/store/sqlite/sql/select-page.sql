SELECT seq, count, type, time, body, sources, checksum,
  -- Stores of versions 1 and 2 have no such column: there the name means the null beside the table.
  CASE type WHEN 'segment' THEN (SELECT frame FROM records AS own WHERE own.id = record.id) END AS frame
FROM records AS record, (SELECT NULL AS frame)
WHERE id >= ($session << 32) + $from AND id < (($session + 1) << 32)
  -- In a damaged tree other rows may stand between those.
  AND session = $session
ORDER BY id
LIMIT $limit
