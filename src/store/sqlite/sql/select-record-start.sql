SELECT seq FROM records WHERE session = $session AND seq <= $seq ORDER BY seq DESC LIMIT 1
