SELECT (
  SELECT session FROM records WHERE id >= (gap.first << 32) AND id < (gap.next << 32) LIMIT 1
) AS session
FROM (
  -- Sessions are numbered one after the other: only where a number is missing rows may be left of one.
  SELECT number + 1 AS first, lead(number, 1, 2147483647) OVER (ORDER BY number) AS next
  FROM (SELECT 0 AS number UNION ALL SELECT number FROM sessions WHERE number > 0 ORDER BY number LIMIT 100000)
) AS gap
WHERE next > first AND session IS NOT NULL
LIMIT 1
