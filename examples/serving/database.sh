#!/bin/sh
# An app with a database: `database.sh [NAME] [ENGINE]` makes a MariaDB, or with `postgresql` a PostgreSQL, and an app that is
# given its connection string by reference and keeps notes in it. Needs `npm run up -- --node`, and `freehold use`.
# POSTGRESQL_VERSION is a major version whose image the node has.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
. "$here/page.sh"
name=${1:-notes}

case ${2:-mariadb} in
  mariadb)
    kind=sqlcluster app=notes
    database='{"engine": "MariaDb", "databaseName": "notes"}'
    ;;
  postgresql)
    kind=relationalcluster app=notes-postgresql
    database="{\"databaseName\": \"notes\", \"engineVersion\": \"${POSTGRESQL_VERSION:-17}\"}"
    ;;
  *)
    echo "There is no engine '$2': mariadb or postgresql." >&2
    exit 2
    ;;
esac

freehold create "$kind" "$name" -d "$database" -o name
freehold create app "$name" -o name -d "{
  \"sourceKind\": \"Upload\",
  \"env\": [{\"name\": \"DATABASE_URL\",
    \"output\": {\"collection\": \"${kind}s\", \"name\": \"$name\", \"output\": \"connectionString\"}}]}"
log=$(mktemp)
freehold deploy "$here/$app" --name "$name" > "$log" || { cat "$log"; exit 1; }
rm -f "$log"
url=$(freehold get app "$name" -o 'jsonpath={.publicUrl}')
until_value 200 page --output /dev/null --write-out '%{http_code}' "$url"
page --data 'buy milk' "$url" > /dev/null
until_page "$url" 'buy milk'
