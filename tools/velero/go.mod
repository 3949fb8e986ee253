module freehold.dev/tools/velero

go 1.26.0

// Only the definitions of their kinds are read, by the tests.
require (
	github.com/kubernetes-csi/external-snapshotter/client/v8 v8.2.0
	github.com/vmware-tanzu/velero v1.18.3
)
