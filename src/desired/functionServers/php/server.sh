#!/bin/sh
# Serves one function over HTTP, in the folder of the source, with as many processes as answer calls at once.
php freehold_server.php || exit 1
trap : INT
# Calls that are under way end first: of this signal every process of PHP takes leave after its call.
trap 'kill -INT 0' TERM
echo "The function serves on port $PORT." >&2
PHP_CLI_SERVER_WORKERS=16 php -d display_errors=0 -d log_errors=1 -d html_errors=0 -S "0.0.0.0:$PORT" freehold_server.php &
server=$!
while kill -0 $server 2>/dev/null; do wait $server; done
