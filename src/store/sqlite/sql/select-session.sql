SELECT number, key, header, checksum FROM sessions WHERE key = $key
