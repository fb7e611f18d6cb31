INSERT INTO sessions (key, header, checksum) VALUES ($key, $header, $checksum)
