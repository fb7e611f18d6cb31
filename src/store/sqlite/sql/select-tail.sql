SELECT seq, count, checksum FROM records WHERE session = $session ORDER BY seq DESC LIMIT 1
