SELECT number, header, checksum FROM sessions WHERE key = $key
