#!/bin/sh
# A function sleeps, wakes, and loses no call: `function.sh [NAMESPACE]` uploads examples/serving/hello, waits until it
# sleeps, tries it, calls it once, lets it sleep again, and sends 50 concurrent calls. Needs `npm run up -- --node`, and
# `freehold use`.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
. "$here/page.sh"
name=${1:-greetings}

base="/boundaries/{boundary}/resourcegroups/{group}/resources/functionnamespaces/$name"
freehold call POST "$base" -d '{"runtime": "nodejs", "maxConcurrency": 100}' -o json > /dev/null
freehold call POST "$base/functions/hello" -o json > /dev/null -d '{
  "handler": "index", "concurrency": 50, "idleSeconds": 10,
  "triggers": [{"name": "web", "kind": "Http", "path": "/hello", "authLevel": "Anonymous"}]}'
node -e '
  const content = require("node:fs").readFileSync(process.argv[1], "utf8")
  console.log(JSON.stringify({ files: [{ path: "index.mjs", content }] }))' "$here/hello/index.mjs" |
  freehold call POST "$base/functions/hello/source" -d - -o json > /dev/null
field() { freehold call GET "$base/functions/hello" -o "jsonpath={.$1}"; }
until_value Succeeded field buildStatus
until_value 0 field readyReplicas
until_value true sh -c "freehold call GET '$base' -o 'jsonpath={.publicUrl}' | grep -q https && echo true"
url=$(freehold call GET "$base" -o 'jsonpath={.publicUrl}')
# Until the Gateway knows the host; what answers 404 wakes nobody.
until_value 404 page --output /dev/null --write-out '%{http_code}' "$url/nothing"

freehold invoke function hello -p "namespaceName=$name" --path '/hello?name=test'
until_value 0 field readyReplicas
echo "First answer after sleeping: $(page --write-out ' in %{time_total} s, status %{http_code}' "$url/hello?name=you")"
until_value 0 field readyReplicas
echo 'It sleeps again. 50 calls at once:'
seq 50 | xargs -P 50 -I '{}' curl --silent --max-time 60 --cacert "$authority" --output /dev/null \
  --write-out '%{http_code}\n' "$url/hello?name={}" | sort | uniq -c
until_value 0 field readyReplicas
echo 'It sleeps again.'
