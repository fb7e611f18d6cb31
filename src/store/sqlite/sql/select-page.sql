SELECT seq, count, type, time, body, checksum FROM records
WHERE session = $session AND seq >= $from
ORDER BY seq
LIMIT $limit
