SELECT number AS rowid, key, header, checksum FROM sessions WHERE number = $number
