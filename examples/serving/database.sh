#!/bin/sh
# An app with a database: `database.sh [NAME]` makes a MariaDB, and an app that is given its connection string by reference
# and keeps notes in it. Needs `npm run up -- --node`, and `freehold use`.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
. "$here/page.sh"
name=${1:-notes}

freehold create sqlcluster "$name" -d '{"engine": "MariaDb", "databaseName": "notes"}' -o name
freehold create app "$name" -o name -d "{
  \"sourceKind\": \"Upload\",
  \"env\": [{\"name\": \"DATABASE_URL\",
    \"output\": {\"collection\": \"sqlclusters\", \"name\": \"$name\", \"output\": \"connectionString\"}}]}"
log=$(mktemp)
freehold deploy "$here/notes" --name "$name" > "$log" || { cat "$log"; exit 1; }
rm -f "$log"
url=$(freehold get app "$name" -o 'jsonpath={.publicUrl}')
until_value 200 page --output /dev/null --write-out '%{http_code}' "$url"
page --data 'buy milk' "$url" > /dev/null
until_page "$url" 'buy milk'
