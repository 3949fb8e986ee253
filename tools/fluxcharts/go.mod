module freehold.dev/tools/fluxcharts

go 1.26.0

// Only the definitions of their kinds are read, by the tests.
require (
	github.com/fluxcd/helm-controller v1.6.1
	github.com/fluxcd/source-controller v1.9.6
)
