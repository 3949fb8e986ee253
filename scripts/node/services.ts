import { ACTIVATOR_PORT, ACTIVATOR_SERVICE } from '../../src/contracts/functions.ts'
import { SYSTEM_NAMESPACE } from '../../src/core/names.ts'
import type { KubeObject, Resource } from '../../src/core/object.ts'
import { DNS_DOMAIN, NODE_ADDRESS } from './addresses.ts'

const FACADE_SERVICE = 'freehold-facade'
const FACADE_PORT = 80
export const endpointSlice: Resource = {
  group: 'discovery.k8s.io',
  version: 'v1',
  plural: 'endpointslices',
  kind: 'EndpointSlice',
  namespaced: true,
}
/** The REST interface, at the address for pods that may reach it. */
export const FACADE_IN_CLUSTER = `http://${FACADE_SERVICE}.${SYSTEM_NAMESPACE}.svc.${DNS_DOMAIN}`

/**
 * The Services that an installation in a cluster has, leading to the processes of the platform beside the node: the facade
 * gives tokens for the registry, and the Gateway leads calls of functions to the activator.
 */
export function platformServices(ports: { facade: number; activator: number }): KubeObject[] {
  return [
    ...service(FACADE_SERVICE, { name: 'http', port: FACADE_PORT, target: ports.facade }),
    ...service(ACTIVATOR_SERVICE, { name: 'functions', port: ACTIVATOR_PORT, target: ports.activator }),
  ]
}

type ServicePort = { name: string; port: number; target: number }

function service(name: string, { name: portName, port, target }: ServicePort): KubeObject[] {
  const metadata = { name, namespace: SYSTEM_NAMESPACE }
  const spec = { ports: [{ name: portName, port, targetPort: target, protocol: 'TCP' }] }
  const labels = { 'kubernetes.io/service-name': name, 'endpointslice.kubernetes.io/managed-by': 'freehold-up' }
  const slice = {
    apiVersion: 'discovery.k8s.io/v1',
    kind: 'EndpointSlice',
    metadata: { ...metadata, labels },
    addressType: 'IPv4',
    endpoints: [{ addresses: [NODE_ADDRESS], conditions: { ready: true } }],
    ports: [{ name: portName, port: target, protocol: 'TCP' }],
  }
  return [{ apiVersion: 'v1', kind: 'Service', metadata, spec } as KubeObject, slice as KubeObject]
}
