import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { loadAll } from 'js-yaml'
import type { KubeObject, Resource } from '../../src/core/object.ts'
import { KINDS } from '../../src/crds/index.ts'
import {
  flowSchema,
  priorityLevelConfiguration,
  validatingAdmissionPolicy,
  validatingAdmissionPolicyBinding,
} from '../../src/kube/builtin.ts'
import type { KubeClient } from '../../src/kube/client.ts'
import { installManifests } from '../../src/kube/crds.ts'

const deploy = join(import.meta.dirname, '../../deploy')

/** Milliseconds until CRDs are served: this machine may be busy with its own start. */
export const SERVED_WITHIN = 180_000
/** The part of the manifests that the embedded platform needs: its processes run beside the cluster, not in it. */
const MANIFESTS = ['namespace.yaml', 'builds.yaml', 'rbac.yaml', 'policies.yaml', 'flowcontrol.yaml']
/** The label of every object in the manifests. */
const PART_OF_SELECTOR = 'app.kubernetes.io/part-of=freehold'

export function readManifests(path: string): KubeObject[] {
  const documents = loadAll(readFileSync(path, 'utf8')) as (KubeObject | null)[]
  return documents.filter((document) => document !== null)
}

export function crdManifests(): KubeObject[] {
  const folder = join(deploy, 'crds')
  const files = readdirSync(folder).filter((name) => name.endsWith('.yaml') && name !== 'kustomization.yaml')
  return files.sort().flatMap((name) => readManifests(join(folder, name)))
}

/** How the API server reaches the webhooks of a facade beside it. */
export type WebhookAddress = { url: string; caPem: string }

/**
 * Applies CRDs, namespace, rights, policies and the webhook; unchanged objects are not written. Without an address the
 * webhook is that of a facade in the cluster, and refuses tenants until there is one.
 */
export async function applyManifests(client: KubeClient, webhook?: WebhookAddress): Promise<void> {
  const manifests = [
    ...crdManifests(),
    ...MANIFESTS.flatMap((name) => readManifests(join(deploy, 'manifests', name))),
    ...readManifests(join(deploy, 'manifests', 'webhooks.yaml')).map((manifest) =>
      withWebhookAddress(manifest, webhook),
    ),
  ]
  await installManifests(client, manifests, { timeout: SERVED_WITHIN })
  await removeOthers(client, manifests)
}

/**
 * Deletes policies of another version that ran on the data before, which would continue to refuse what this one allows,
 * and its priority levels, which would keep their share of the API server.
 */
export async function removeOthers(client: KubeClient, manifests: readonly KubeObject[]): Promise<void> {
  // Bindings first: a binding to a missing policy would be an error.
  for (const resource of [
    validatingAdmissionPolicyBinding,
    validatingAdmissionPolicy,
    flowSchema,
    priorityLevelConfiguration,
  ]) {
    const wanted = new Set(manifests.filter(({ kind }) => kind === resource.kind).map(({ metadata }) => metadata.name))
    const { items } = await client.list(resource, { labelSelector: PART_OF_SELECTOR })
    for (const { metadata } of items)
      if (!wanted.has(metadata.name)) await client.remove(resource, metadata, { uid: metadata.uid })
  }
}

type WebhookConfiguration = KubeObject & { webhooks: { clientConfig: object }[] }

function withWebhookAddress(manifest: KubeObject, address: WebhookAddress | undefined): KubeObject {
  if (address === undefined) return manifest
  const clientConfig = { url: address.url, caBundle: Buffer.from(address.caPem).toString('base64') }
  const { webhooks } = manifest as WebhookConfiguration
  return { ...manifest, webhooks: webhooks.map((webhook) => ({ ...webhook, clientConfig })) } as KubeObject
}

/** @param more types beyond our own and the built-in ones */
export async function applyObjects(
  client: KubeClient,
  objects: readonly KubeObject[],
  more: readonly Resource[] = [],
): Promise<void> {
  await installManifests(client, objects, { resources: [...KINDS.map((kind) => kind.resource), ...more] })
}
