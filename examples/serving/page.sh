# What the scripts of this folder share: `. page.sh`. DATA is the data folder of `npm run up`.
data=${DATA:-.freehold}
authority=${AUTHORITY:-$data/certificate-authority.crt}

page() { curl --silent --show-error --max-time 60 --cacert "$authority" "$@"; }

# until_page URL TEXT: asks until the page holds the text, for five minutes.
until_page() {
  end=$(($(date +%s) + 300))
  until said=$(page "$1" 2>&1) && echo "$said" | grep -q -F "$2"; do
    [ "$(date +%s)" -lt "$end" ] || { echo "$1 does not say \"$2\": $said" >&2; exit 1; }
    sleep 0.2
  done
  echo "$1 says: $said"
}

# until_value VALUE COMMAND...: runs a command until it prints the value, for ten minutes.
until_value() {
  wanted=$1 end=$(($(date +%s) + 600))
  shift
  until said=$("$@") && [ "$said" = "$wanted" ]; do
    [ "$(date +%s)" -lt "$end" ] || { echo "$* prints \"$said\", not \"$wanted\"." >&2; exit 1; }
    sleep 1
  done
}
