"""Instructions per warm call, counted by callgrind and compared with the committed figures."""
