-- The rows that begin from $first to $last, and the one before them, which may stand for many.
SELECT seq, count, type, time, body, sources, checksum,
  CASE type WHEN 'segment' THEN (SELECT frame FROM records AS own WHERE own.id = record.id) END AS frame
FROM records AS record, (SELECT NULL AS frame)
WHERE id >= coalesce(
    (SELECT id FROM records WHERE id >= ($session << 32) AND id <= ($session << 32) + $first AND session = $session + 0 ORDER BY id DESC LIMIT 1),
    ($session << 32) + $first
  )
  AND id <= ($session << 32) + $last AND session = $session + 0
ORDER BY id
