import { join } from 'node:path'
import { connect } from 'node:tls'
import type { KubeObject, Resource } from '../../src/core/object.ts'
import { PlatformCluster } from '../../src/crds/clusters.ts'
import type { KubeClient } from '../../src/kube/client.ts'
import { installManifests, resourcesOf } from '../../src/kube/crds.ts'
import type { CertificatePair } from '../controlplane/pki.ts'
import { waitUntil } from '../controlplane/request.ts'
import type { ControlPlane } from '../controlplane/types.ts'
import { readManifests } from '../platform/manifests.ts'
import type { GatewayPorts } from './addresses.ts'
import { GATEWAY } from './addresses.ts'
import { gatewayApiDefinitions } from './gatewayApi.ts'

const MANIFESTS = join(import.meta.dirname, '../../deploy/node')
const METRICS = { namespace: 'kube-system', name: 'metrics-server' }
const HOST_CERTIFICATE = { namespace: GATEWAY.namespace, name: 'public-hosts' }
const READY_TIMEOUT_MS = 180_000

const apiService: Resource = {
  group: 'apiregistration.k8s.io',
  version: 'v1',
  plural: 'apiservices',
  kind: 'APIService',
  namespaced: false,
}

/**
 * Installs what a cloud's cluster has in addition to Kubernetes: a Gateway with a certificate for the domain's hosts,
 * and metrics. Does not wait until they serve.
 */
export async function installAddons(client: KubeClient, controlPlane: ControlPlane, domain: string): Promise<void> {
  const [definitions, hosts, metrics] = await Promise.all([
    gatewayApiDefinitions(),
    controlPlane.issueServingCertificate([`*.${domain}`]),
    controlPlane.issueServingCertificate([`${METRICS.name}.${METRICS.namespace}.svc`]),
  ])
  const caBundle = Buffer.from(controlPlane.servingCaPem).toString('base64')
  const read = (name: string) => readManifests(join(MANIFESTS, `${name}.yaml`))
  const trusted = (object: KubeObject) =>
    object.kind === 'APIService'
      ? ({ ...object, spec: { ...(object.spec as object), caBundle } } as KubeObject)
      : object
  const [home, ...gateway] = read('gateway')
  const manifests = [
    ...definitions,
    ...(home === undefined ? [] : [home]),
    certificate(HOST_CERTIFICATE, hosts),
    certificate(METRICS, metrics),
    ...gateway,
    ...read('metrics-server').map(trusted),
  ]
  await installManifests(client, manifests, { resources: [apiService, ...definitions.flatMap(resourcesOf)] })
}

function certificate(metadata: { namespace: string; name: string }, { certPem, keyPem }: CertificatePair): KubeObject {
  const base64 = (text: string) => Buffer.from(text).toString('base64')
  const data = { 'tls.crt': base64(certPem), 'tls.key': base64(keyPem) }
  return { apiVersion: 'v1', kind: 'Secret', metadata, type: 'kubernetes.io/tls', data } as KubeObject
}

/** Waits until the Gateway serves the certificate of the domain's hosts. */
export async function untilGatewayServes(controlPlane: ControlPlane, { gatewayHttps }: GatewayPorts, domain: string) {
  const serves = () =>
    new Promise<boolean>((done, failed) => {
      const options = { host: '127.0.0.1', port: gatewayHttps, servername: `ready.${domain}` }
      const socket = connect({ ...options, ca: controlPlane.servingCaPem }, () => {
        socket.destroy()
        done(true)
      })
      socket.once('error', failed)
    })
  await waitUntil('the Gateway', READY_TIMEOUT_MS, serves, controlPlane.failed)
}

/**
 * Routes public hosts through the node's Gateway; without one, removes that of an earlier run on the same data. A
 * Gateway named by an administrator stays.
 */
export async function routeThroughGateway(client: KubeClient, ports: GatewayPorts | undefined): Promise<void> {
  const { items } = await client.list(PlatformCluster.resource)
  for (const { metadata, spec } of items as unknown as PlatformCluster[]) {
    if (!spec.isPlatform || (spec.gateway !== undefined && spec.gateway.namespace !== GATEWAY.namespace)) continue
    if (ports === undefined && spec.gateway === undefined) continue
    const wanted =
      ports === undefined
        ? { gateway: null, publicPort: null }
        : { gateway: { ...GATEWAY, sectionName: null }, publicPort: ports.gatewayHttps }
    await client.mergePatch(PlatformCluster.resource, { name: metadata.name }, { spec: wanted })
  }
}
