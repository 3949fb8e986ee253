#!/bin/sh
# A folder becomes a page: `folder.sh [NAME]` builds examples/serving/shop on the platform, shows what it serves, changes one
# line, shows the new page, and goes back without a build. Needs a real node (`npm run up -- --node`), and `freehold use`.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
. "$here/page.sh"
name=${1:-shop}

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cp "$here"/shop/* "$work"
freehold deploy "$work" --name "$name" > "$work.log" || { cat "$work.log"; exit 1; }
url=$(freehold get app "$name" -o 'jsonpath={.publicUrl}')
until_page "$url" 'Hello from the shop'

sed -i 's/from the shop/from the new shop/' "$work/server.js"
began=$(date +%s)
freehold deploy "$work" --name "$name" > "$work.log" || { cat "$work.log"; exit 1; }
until_page "$url" 'Hello from the new shop'
echo "The changed line was served after $(($(date +%s) - began)) s."

began=$(date +%s)
freehold rollback app "$name" 1 -o name > /dev/null
until_page "$url" 'Hello from the shop'
echo "The first page was back after $(($(date +%s) - began)) s."
rm -f "$work.log"
