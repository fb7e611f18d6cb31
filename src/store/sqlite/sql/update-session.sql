UPDATE sessions SET key = $key, header = $header, checksum = $checksum WHERE number = $number
