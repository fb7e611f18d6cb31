SELECT number FROM sessions WHERE number >= $from ORDER BY number LIMIT 1
