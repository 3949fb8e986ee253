import { join } from 'node:path'
import type { KubeClient } from '../../src/kube/client.ts'
import { installManifests } from '../../src/kube/crds.ts'
import type { ToolSearch } from '../controlplane/tool.ts'
import { readManifests } from '../platform/manifests.ts'
import { DNS_DOMAIN, GATEWAY } from './addresses.ts'
import { type Image, makeImage } from './image.ts'
import { pushInto } from './images.ts'
import type { Namespaces } from './namespaces.ts'
import { unpackedPackages } from './packages.ts'
import { NODE_LIBRARIES } from './platformImage.ts'

const MANIFESTS = join(import.meta.dirname, '../../deploy/node/prometheus.yaml')
export const PROMETHEUS_IMAGE = 'prometheus:1'
/** Where the platform queries it, on a node that has it (setting `prometheusUrl`). */
export const PROMETHEUS_URL = `http://prometheus.${GATEWAY.namespace}.svc.${DNS_DOMAIN}:9090`

/** The folder with the programs of Debian's Prometheus. @throws Error if it cannot be had */
export async function prometheusPrograms(search: ToolSearch): Promise<string> {
  const request = { name: 'prometheus', packages: ['prometheus'], dependencies: 'missing' } as const
  return join(await unpackedPackages(request, search), 'usr/bin')
}

/**
 * Puts a Prometheus onto a node that measures the Gateway, for web metrics. Does not wait until it runs.
 *
 * @throws Error that says what is missing
 */
export async function installPrometheus(
  { node, client }: { node: Pick<Namespaces, 'inNetwork'>; client: KubeClient },
  search: ToolSearch,
): Promise<void> {
  await pushInto(node, [await prometheusImage(search)])
  await installManifests(client, readManifests(MANIFESTS))
}

/** @throws Error that says what is missing */
export async function prometheusImage(search: ToolSearch): Promise<Image> {
  const [programs, base] = [await prometheusPrograms(search), await unpackedPackages(NODE_LIBRARIES, search)]
  return makeImage({
    name: PROMETHEUS_IMAGE,
    layers: [base, { from: programs, paths: ['prometheus'], to: 'usr/bin' }],
    key: `${programs} ${base}`,
    config: { Entrypoint: ['/usr/bin/prometheus'], User: '65534:65534' },
  })
}
