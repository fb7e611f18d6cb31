INSERT INTO sessions (number, key, header, checksum) VALUES ($number, $key, $header, $checksum)
