#!/usr/bin/env bash
# The first hour of a developer: a folder becomes an app, with a secret, a database and a way back; then a program of one's
# own on the client. Run it in a checkout, after README.md up to "From the command line".
set -euo pipefail

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

echo '== A place to work in'
boundary=$(freehold create boundary -d '{"displayName":"Shop"}' --wait -o name)
freehold create resourcegroup shop --boundary "$boundary" --wait -o name
freehold use --boundary "$boundary" --group shop

echo '== A folder becomes an app'
mkdir "$work/shop"
cat >"$work/shop/package.json" <<'JSON'
{ "name": "shop", "version": "1.0.0", "scripts": { "start": "node index.js" } }
JSON
cat >"$work/shop/index.js" <<'JAVASCRIPT'
require('node:http').createServer((_, response) => response.end(`Hello from ${process.env.COLOUR ?? 'here'}\n`)).listen(8080)
JAVASCRIPT
freehold init "$work/shop"
freehold deploy "$work/shop"
freehold open app shop
freehold logs app shop --tail 5

echo '== A secret'
vault=shop-${boundary%%-*}
freehold create secretvault "$vault" --wait -o name
freehold create secret PaymentToken --param "resourceName=$vault" -d '{"value":"only-for-the-shop"}'
freehold env set app shop COLOUR=blue --from "PAYMENT_TOKEN=secretvault/$vault/PaymentToken" --wait

echo '== A database, by its output'
freehold create relationalcluster orders -d '{"computePlan":"relational-dev"}' --wait -o name
freehold env set app shop --from DATABASE_URL=relationalcluster/orders/connectionString --wait
freehold env list app shop -o json
freehold describe app shop

echo '== Back to the first revision'
freehold rollback app shop 1 --wait -o name
test "$(freehold env list app shop -o json)" = '[]'

echo '== A program of our own'
tarball=$(npm run --silent client)
cp -r examples/client "$work/program"
(
  cd "$work/program"
  npm install --offline --no-audit --no-fund "$tarball"
  PLATFORM_URL=$(freehold version -o 'jsonpath={.platform.url}') PLATFORM_TOKEN=$(freehold token) node main.mjs
)

echo '== Take it away'
freehold delete resourcegroup shop --wait
freehold delete boundary "$boundary" --yes
