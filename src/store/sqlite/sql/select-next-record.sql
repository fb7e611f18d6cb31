SELECT session, seq FROM records WHERE id >= ($session << 32) ORDER BY id LIMIT 1
