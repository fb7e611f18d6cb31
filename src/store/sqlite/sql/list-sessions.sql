SELECT number, key, header, checksum FROM sessions WHERE number < $before ORDER BY number DESC LIMIT $limit
