#!/usr/bin/env bash
# The first hour of a platform engineer: the version before on an empty cluster, a database on it, the upgrade to this one,
# and the way out, after which nothing is left. It follows docs/install.md. Run it in a checkout with its history:
#   KUBECONFIG  an empty cluster to which you are administrator
# `npm run up -- --kubeconfig` runs the program of each version on this machine, so that no image has to be built.
set -euo pipefail
: "${KUBECONFIG:?names the cluster}"

root=$PWD
work=$(mktemp -d)
data=$work/platform
export XDG_CONFIG_HOME=$work/config XDG_STATE_HOME=$work/state PATH="$data:$PATH"
trap '(cd "$root" && npm run --silent down -- --data "$data") || true; rm -rf "$work"' EXIT

# What no namespace holds, and the namespaces.
everything() {
  kinds=customresourcedefinitions,clusterroles,clusterrolebindings,validatingadmissionpolicies,validatingadmissionpolicybindings
  kinds=$kinds,flowschemas,prioritylevelconfigurations
  kubectl get "$kinds,validatingwebhookconfigurations,mutatingwebhookconfigurations,namespaces" --output=name | sort
}
# An overlay on the manifests of a version, as step 2 of docs/install.md has it.
overlay() {
  mkdir -p "$work/overlay-$1"
  cat >"$work/overlay-$1/kustomization.yaml" <<YAML
resources: [$(node -p "require('path').relative('$work/overlay-$1', require('fs').realpathSync('$2'))")]
patches:
  - patch: |
      apiVersion: v1
      kind: ConfigMap
      metadata: { name: freehold-configuration, namespace: freehold-system }
      data:
        configuration.yaml: |
          issuer: https://login.example.com/realms/freehold
          publicUrl: https://api.example.com
          clusterDomain: apps.example.com
YAML
  echo "$work/overlay-$1"
}
installed() {
  kubectl -n freehold-system wait --for=condition=Available deployment --all --timeout=5m
  kubectl wait --for=condition=Established customresourcedefinitions --all --timeout=1m >/dev/null
}
everything >"$work/empty"

echo '== The version before'
mkdir "$work/before"
git archive HEAD~1 | tar -x -C "$work/before"
if cmp -s package-lock.json "$work/before/package-lock.json"; then ln -s "$root/node_modules" "$work/before/node_modules"; fi
before=$(overlay before "$work/before/deploy")
kubectl apply --server-side -k "$before" >/dev/null
installed
(cd "$work/before" && npm run --silent up -- --detach --kubeconfig "$KUBECONFIG" --data "$data")

echo '== The first database'
freehold setup --dev "$data/dev.json"
boundary=$(freehold create boundary -d '{"displayName":"Acme"}' --wait -o name)
freehold create resourcegroup search --boundary "$boundary" -o name
freehold use --boundary "$boundary" --group search
freehold apply -f examples/rest --wait
identity() {
  kubectl get vectorclusters -A --output=jsonpath='{range .items[*]}{.metadata.uid} {.metadata.generation}{"\n"}{end}'
}
identity >"$work/identity"

echo '== The upgrade'
(cd "$work/before" && npm run --silent down -- --data "$data")
today=$(overlay today "$root/deploy")
# `up` has applied the objects of the former version as well.
kubectl apply --server-side --force-conflicts -k "$today" >/dev/null
installed
npm run --silent up -- --detach --kubeconfig "$KUBECONFIG" --data "$data"
freehold setup --dev "$data/dev.json"
freehold wait vectorcluster products
identity | diff "$work/identity" -
freehold scale vectorcluster products 4 --wait
freehold version -o 'jsonpath={.platform.version} {.platform.commit}'

echo '== The way out'
freehold delete boundary "$boundary" --yes && exit 1 || echo 'A boundary that holds something stays.'
kubectl delete resourcegroups.freehold.dev --all -A --timeout=10m
kubectl wait --for=delete resourcegroups.freehold.dev --all -A --timeout=30m
kubectl delete boundaries.freehold.dev --all --timeout=10m
kubectl wait --for=delete boundaries.freehold.dev --all --timeout=10m
kubectl get platformclusters.freehold.dev -o jsonpath='{range .items[?(@.spec.isPlatform==false)]}{.metadata.name}{"\n"}{end}' |
  xargs -r kubectl delete platformclusters.freehold.dev --timeout=5m
outside=idpbindings.iam.freehold.dev,platformbackupsettings.lifecycle.freehold.dev
kubectl delete "$outside" --all -n freehold-system --timeout=5m
npm run --silent down -- --data "$data"
guard='validatingadmissionpolicy/freehold-removal validatingadmissionpolicybinding/freehold-removal'
# shellcheck disable=SC2086 # two names
kubectl patch $guard --type=merge -p '{"metadata":{"finalizers":null}}'
kubectl delete -k "$today" --ignore-not-found --timeout=5m >/dev/null
everything | diff "$work/empty" -
echo 'Nothing is left.'
