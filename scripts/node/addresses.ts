import { API_SERVICE_ADDRESS } from '../controlplane/flags.ts'

/** The address of the node, known only in its own namespaces. */
export const NODE_ADDRESS = '10.200.0.1'
export const NODE_NAME = 'freehold-node-0'
/** Pods get their addresses from this range. */
export const POD_RANGE = '10.244.0.0/22'
export const DNS_DOMAIN = 'cluster.local'
/** Serves images without TLS to the node and to builds, read-only. */
export const REGISTRY_PORT = 5000
export const REGISTRY = `${NODE_ADDRESS}:${REGISTRY_PORT}`
/** The same registry, writable: on the node's loopback, which no pod reaches. */
export const WRITABLE_REGISTRY = `127.0.0.1:${REGISTRY_PORT}`
/** A mirror of this machine's npm registry, for builds only. */
export const PACKAGES = { port: 5001, url: `http://${NODE_ADDRESS}:5001/` }
export const PAUSE_IMAGE = `${REGISTRY}/pause:1`
/** Addresses of the API server and of its Service, closed to tenants' pods. */
export const CLOSED_NETWORKS = [`${API_SERVICE_ADDRESS}/32`, `${NODE_ADDRESS}/32`]
/** The Service of the Gateway (deploy/node/gateway.yaml), where a cloud would have a load balancer. */
export const GATEWAY_ADDRESS = '10.96.0.80'
export const GATEWAY = { namespace: 'freehold-gateway', name: 'public' }
/** On loopback here; forwarded to that Gateway. */
export const GATEWAY_PORTS = ['gatewayHttp', 'gatewayHttps'] as const
export type GatewayPorts = Readonly<Record<(typeof GATEWAY_PORTS)[number], number>>
