INSERT INTO search_ranges (session, first, next, checksum) VALUES ($session, $first, $next, $checksum)
