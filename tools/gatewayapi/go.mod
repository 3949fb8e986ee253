module freehold.dev/tools/gatewayapi

go 1.26.0

// Only the definitions of its kinds are read, by the tests.
require sigs.k8s.io/gateway-api v1.6.3
