SELECT first, next, checksum, (
  SELECT checksum FROM records
  WHERE records.id >= ($session << 32) AND records.id <= ($session << 32) + next - 1
  ORDER BY records.id DESC
  LIMIT 1
) AS actual
FROM search_ranges
WHERE session = $session
ORDER BY first
