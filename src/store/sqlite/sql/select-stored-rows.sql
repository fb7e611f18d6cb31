-- From the last row on that begins at $from or before: it may stand for many.
SELECT id AS rowid, count, type, time, body, sources, checksum,
  CASE type WHEN 'segment' THEN (SELECT frame FROM records AS own WHERE own.id = record.id) END AS frame
FROM records AS record, (SELECT NULL AS frame)
WHERE id >= coalesce(
    (SELECT id FROM records WHERE id >= ($session << 32) AND id <= ($session << 32) + $from ORDER BY id DESC LIMIT 1),
    ($session << 32) + $from
  )
  AND id <= ($session << 32) + 4294967295
ORDER BY id
