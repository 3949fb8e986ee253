import { API_SERVICE_ADDRESS } from '../controlplane/flags.ts'

/** The one address of the node; only its own namespaces know it. */
export const NODE_ADDRESS = '10.200.0.1'
export const NODE_NAME = 'freehold-node-0'
/** Pods get their addresses from this range. */
export const POD_RANGE = '10.244.0.0/22'
export const DNS_DOMAIN = 'cluster.local'
/** Serves images without TLS, to the node and to builds: to be read and nothing else. */
export const REGISTRY_PORT = 5000
export const REGISTRY = `${NODE_ADDRESS}:${REGISTRY_PORT}`
/** Where the same registry is written to: the loopback of the node, which no pod reaches. */
export const WRITABLE_REGISTRY = `127.0.0.1:${REGISTRY_PORT}`
/** A mirror of the registry of npm that this machine uses, for builds alone. */
export const PACKAGES = { port: 5001, url: `http://${NODE_ADDRESS}:5001/` }
export const PAUSE_IMAGE = `${REGISTRY}/pause:1`
/** The API server, by its Service and by what the Service leads to: pods of tenants have nothing to ask there. */
export const CLOSED_NETWORKS = [`${API_SERVICE_ADDRESS}/32`, `${NODE_ADDRESS}/32`]
/** Of the Service before the Gateway (deploy/node/gateway.yaml), where a cloud would have a load balancer. */
export const GATEWAY_ADDRESS = '10.96.0.80'
export const GATEWAY = { namespace: 'freehold-gateway', name: 'public' }
/** On loopback here, led to that Gateway. */
export const GATEWAY_PORTS = ['gatewayHttp', 'gatewayHttps'] as const
export type GatewayPorts = Readonly<Record<(typeof GATEWAY_PORTS)[number], number>>
