-- What the rows of a session take; `packed` is null but in segments.
SELECT seq, count,
  length(CAST(body AS BLOB)) + coalesce(length(CAST(sources AS BLOB)), 0) AS bytes,
  CASE type WHEN 'segment' THEN (SELECT length(frame) FROM records AS own WHERE own.id = record.id) END AS packed,
  CASE type WHEN 'segment' THEN body END AS body
FROM records AS record, (SELECT NULL AS frame)
WHERE id >= ($session << 32) AND id < (($session + 1) << 32) AND session = $session + 0
ORDER BY id
