#!/bin/sh
# A push becomes a page: `git.sh [NAME]` makes a repository on the Git host of the platform, pushes examples/serving/shop there,
# makes an app of it, and changes the page by a second push. Needs `npm run up -- --node --git`, and `freehold use`.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
. "$here/page.sh"
name=${1:-shop-from-git}

sources='/boundaries/{boundary}/sources/circuit'
source=$(freehold call POST "$sources/create" -d "{\"displayName\": \"$name\"}" -o 'jsonpath={.deploymentSourceId}')
until_value Healthy freehold call GET "$sources/$source/health" -o 'jsonpath={.status}'
freehold call POST "$sources/$source/circuit/repositories" -d "{\"name\": \"$name\"}" -o json > /dev/null
repository=$(freehold call GET "$sources/$source/repositories" -o 'jsonpath={[0].id}')
installation="$sources/installations/$source"
address=$(freehold call POST "$installation/token/$repository" -o 'jsonpath={.cloneUrl}')
user=$(freehold call POST "$installation/token/$repository" -o 'jsonpath={.username}')
token=$(freehold call POST "$installation/token/$repository" -o 'jsonpath={.token}')

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export GIT_SSL_CAINFO="$authority"
git() { command git -C "$work" -c user.name=shop -c user.email=shop@example.com "$@"; }
# The node knows the host by an address of its own, and this machine by the one of the machine.
remote=$(echo "$address" | sed "s#^https://[^/:]*#https://$user:$token@127.0.0.1#")
git clone --quiet "$remote" .
cp "$here"/shop/* "$work"
git add .
git commit --quiet -m 'A shop'
git push --quiet origin HEAD:main
# From now on the platform is told of pushes; what is there already is built with the app.
freehold call POST "$installation/repositories/$repository/webhooks/ensure" -o json > /dev/null

freehold create app "$name" -d "{\"sourceKind\": \"Repository\", \"repositoryUrl\": \"$address\", \"branch\": \"main\", \"deploymentSourceId\": \"$source\"}" -o name
until_value Running freehold get app "$name" -o 'jsonpath={.status}'
url=$(freehold get app "$name" -o 'jsonpath={.publicUrl}')
until_page "$url" 'Hello from the shop'

sed -i 's/from the shop/from the pushed shop/' "$work/server.js"
git commit --quiet --all -m 'Another greeting'
began=$(date +%s)
git push --quiet origin HEAD:main
until_page "$url" 'Hello from the pushed shop'
echo "The push was served after $(($(date +%s) - began)) s."
