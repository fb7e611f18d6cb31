SELECT number, key, header, checksum FROM sessions WHERE number >= $from ORDER BY number LIMIT $limit
