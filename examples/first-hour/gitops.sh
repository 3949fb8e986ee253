#!/usr/bin/env bash
# The first hour of somebody who keeps everything in Git: a tenant as a tree in a repository, synced by Flux, changed, and
# taken away by taking it out of the tree. Run it in a checkout, after README.md up to "With kubectl", with Flux in the cluster:
#   GIT_URL  a repository that you may push to; the GitRepository `tenants` in the namespace `default` names its branch main
set -euo pipefail
: "${GIT_URL:?says where the repository is}"

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
examples=$PWD/examples/git
git clone --quiet "$GIT_URL" "$work/tree"
cd "$work/tree"
git checkout --quiet -B main
git config user.name 'A person'
git config user.email person@example.com

push() {
  git add --all
  git commit --quiet --message "$1"
  git push --quiet origin main
}
synced() {
  kubectl wait kustomization/tenants --for=jsonpath='{.status.lastAppliedRevision}'="main@sha1:$(git rev-parse HEAD)" --timeout=10m
}

echo '== The tree: a tenant of our own, and the namespaces that it needs'
boundary=$(node -p "require('crypto').randomUUID()")
group=$(node -p "require('crypto').createHash('sha256').update('$boundary/reading').digest('hex').slice(0, 10)")
mkdir tenants
sed -e "s/0c6d7b1e-54f7-4d59-8f7b-3a1c2f6e9d10/$boundary/" -e "s/reading-d066e6a654/reading-$group/" \
  "$examples/tenant.yaml" >tenants/tenant.yaml
freehold namespaces -f tenants/tenant.yaml >tenants/namespaces.yaml
push 'A tenant with a database'

echo '== Flux syncs it, and waits until it is ready'
kubectl apply -f - <<YAML
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: { name: tenants, namespace: default }
spec:
  sourceRef: { kind: GitRepository, name: tenants }
  path: ./tenants
  interval: 10m
  retryInterval: 5s
  timeout: 10m
  prune: true
  wait: true
YAML
synced
kubectl -n "reading-$group" get vectorclusters
freehold describe vectorcluster articles -b "$boundary" -g reading

echo '== Nothing drifts'
kubectl diff --server-side -f tenants/tenant.yaml

echo '== A change'
sed -i.before 's/replicas: 1/replicas: 2/' tenants/tenant.yaml
rm tenants/tenant.yaml.before
push 'Two copies'
synced
kubectl -n "reading-$group" wait vectorcluster/articles --for=jsonpath='{.status.readyReplicas}'=2 --timeout=5m

echo '== The database leaves the tree'
awk 'BEGIN { RS = "---\n" } !/kind: VectorCluster/ { printf "---\n%s", $0 }' tenants/tenant.yaml >tenants/rest.yaml
git rm --quiet --cached tenants/tenant.yaml
rm tenants/tenant.yaml
push 'No database'
synced
kubectl -n "reading-$group" wait vectorcluster/articles --for=delete --timeout=5m

echo '== Then the group and its boundary, both at once'
rm tenants/*.yaml
printf '{ apiVersion: v1, kind: ConfigMap, metadata: { name: left, namespace: default } }\n' >tenants/left.yaml
push 'No tenant'
kubectl wait "boundary/$boundary" --for=delete --timeout=10m
kubectl wait "namespace/reading-$group" "namespace/boundary-$boundary" --for=delete --timeout=5m
synced
kubectl delete kustomization tenants
