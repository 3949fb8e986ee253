#!/usr/bin/env bash
# The first hour of somebody who is curious: README.md from its first command to its last, and before that last one a look
# at what a browser shows. Run it in a checkout where no platform runs.
set -euo pipefail

# The commands of README.md as they stand there, without those below `<!-- not run: why -->`.
commands() {
  awk '
    /^<!-- not run: / { isLeft = 1 }
    /^```sh$/ { isInside = !isLeft; isLeft = 0; next }
    /^```$/ { isInside = 0 }
    isInside { print }
  ' README.md
}
last='npm run down'
before=$(commands | sed '$d')
test "$(commands | tail -n 1)" = "$last"
eval "$before"

# `dev` is a function of the README: it reads .freehold/dev.json.
address=$(dev facadeUrl)
echo "== What a browser shows at $address"
curl -sS --fail -H 'Accept: text/html' "$address/" | grep -o '<title>[^<]*'
curl -sS --fail -H 'Accept: text/html' "$address/reference" | grep -o '<title>[^<]*'
curl -sS --fail "$address/openapi.json" >.freehold/openapi.json
node -p "const { openapi, paths } = JSON.parse(require('fs').readFileSync('.freehold/openapi.json')); 'OpenAPI ' + openapi + ', ' + Object.keys(paths).length + ' paths'"
curl -sS --fail "$address/docs" | node -p "JSON.parse(require('fs').readFileSync(0)).modules.length + ' modules'"

$last
