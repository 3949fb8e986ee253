/** The start script of a site's image, and the configuration that it uses without the platform's. */
export const START_FILE = 'site.sh'
export const SITE_CONFIGURATION = 'site.conf'

/**
 * awk program that makes nginx locations from the lines of a file `_redirects`: `<from> <to> [status]`, where `from`
 * may end with `*` and `to` may contain `:splat`. Existing files precede redirects. Invalid lines are skipped and
 * reported.
 */
const REDIRECTS = String.raw`
{ sub(/\r$/, "") }
/^[ \t]*(#|$)/ { next }
{
  from = $1; to = $2; code = NF > 2 ? $3 : "301"; sub(/!$/, "", code)
  isGood = NF <= 3 && from ~ /^\/[A-Za-z0-9._~\/-]*[*]?$/ && code ~ /^(200|301|302|303|307|308)$/
  isGood = isGood && to ~ /^(https?:\/\/[A-Za-z0-9.-]+(:[0-9]+)?)?\/[A-Za-z0-9._~\/%?&=#:,@+-]*$/
  if (code == "200" && (to !~ /^\// || to ~ /[?#]/)) isGood = 0
  if (from == "/_redirects" || from == "/index.html" || from in seen || count >= 1000) isGood = 0
  if (!isGood) { print "_redirects: line " NR " is left out" > "/dev/stderr"; next }
  seen[from] = 1; count++
  hasSplat = sub(/[*]$/, "", from)
  gsub(/:splat/, hasSplat ? "$splat" : "", to)
  path = from; gsub(/[.]/, "[.]", path)
  where = hasSplat ? "~ \"^" path "(?<splat>.*)$\"" : "= \"" from "\""
  if (code == "200") { print "location " where " { try_files $uri $uri/index.html \"" to "\"; }"; next }
  rest = to ~ /[?#]/ ? "" : "$is_args$args"
  print "location " where " { try_files $uri $uri/index.html @redirect" count "; }"
  print "location @redirect" count " { return " code " \"" to rest "\"; }"
}`

/** A shell script, because the images of web servers have a shell, and awk. */
export const SITE_START = `#!/bin/sh
# Prepares what only the place of running knows, and becomes the web server.
set -eu
files=\${SITE_FILES:-/site}; work=\${SITE_WORK:-/tmp/site}; own=\${SITE_OWN:-/etc/nginx/${SITE_CONFIGURATION}}
mkdir -p "$work"
if [ -n "\${FREEHOLD_SITE:-}" ]; then printf '%s' "$FREEHOLD_SITE" > "$work/nginx.conf"; else cp "$own" "$work/nginx.conf"; fi
: > "$work/redirects.conf"
if [ -f "$files/_redirects" ]; then awk '${REDIRECTS}' "$files/_redirects" > "$work/redirects.conf"; fi
awk '$1 == "nameserver" { name = $2; if (name ~ /:/) name = "[" name "]"; all = all " " name }
END { if (all != "") print "resolver" all " valid=30s;" }' /etc/resolv.conf > "$work/proxy.conf"
for trusted in /etc/ssl/certs/ca-certificates.crt /etc/ssl/cert.pem; do
  if [ -f "$trusted" ]; then
    echo "proxy_ssl_verify on; proxy_ssl_verify_depth 5; proxy_ssl_trusted_certificate $trusted;" >> "$work/proxy.conf"
    break
  fi
done
exec "\${SITE_SERVER:-nginx}" -c "$work/nginx.conf" -g 'daemon off;'
`
