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

/** Milliseconds until definitions are served: this machine may be busy with its own start. */
export const SERVED_WITHIN = 180_000
/** Of the manifests, what the embedded platform needs: its processes run beside the cluster, not in it. */
const MANIFESTS = ['namespace.yaml', 'builds.yaml', 'rbac.yaml', 'policies.yaml', 'flowcontrol.yaml']
/** What every object of the manifests carries. */
const OURS = 'app.kubernetes.io/part-of=freehold'

export function readManifests(path: string): KubeObject[] {
  const documents = loadAll(readFileSync(path, 'utf8')) as (KubeObject | null)[]
  return documents.filter((document) => document !== null)
}

export function crdManifests(): KubeObject[] {
  const folder = join(deploy, 'crds')
  const files = readdirSync(folder).filter((name) => name.endsWith('.yaml') && name !== 'kustomization.yaml')
  return files.sort().flatMap((name) => readManifests(join(folder, name)))
}

/** How the API server reaches the webhooks of a facade that runs beside it. */
export type WebhookAddress = { url: string; caPem: string }

/**
 * Applies CRDs, namespace, rights, policies and the webhook; what is as it should be is not written. Without an address
 * the webhook is that of a facade in the cluster, and refuses tenants as long as there is none.
 */
export async function applyManifests(client: KubeClient, webhook?: WebhookAddress): Promise<void> {
  const manifests = [
    ...crdManifests(),
    ...MANIFESTS.flatMap((name) => readManifests(join(deploy, 'manifests', name))),
    ...readManifests(join(deploy, 'manifests', 'webhooks.yaml')).map((manifest) => reachedAt(manifest, webhook)),
  ]
  await installManifests(client, manifests, { timeout: SERVED_WITHIN })
  await removeOthers(client, manifests)
}

/**
 * Deletes policies of a version that ran on the data before, newer or older: they would go on refusing what this one allows.
 * And its levels, which keep their part of the API server.
 */
export async function removeOthers(client: KubeClient, manifests: readonly KubeObject[]): Promise<void> {
  // What names another goes first: without that it would be an error.
  for (const resource of [
    validatingAdmissionPolicyBinding,
    validatingAdmissionPolicy,
    flowSchema,
    priorityLevelConfiguration,
  ]) {
    const wanted = new Set(manifests.filter(({ kind }) => kind === resource.kind).map(({ metadata }) => metadata.name))
    const { items } = await client.list(resource, { labelSelector: OURS })
    for (const { metadata } of items)
      if (!wanted.has(metadata.name)) await client.remove(resource, metadata, { uid: metadata.uid })
  }
}

type WebhookConfiguration = KubeObject & { webhooks: { clientConfig: object }[] }

function reachedAt(manifest: KubeObject, address: WebhookAddress | undefined): KubeObject {
  if (address === undefined) return manifest
  const clientConfig = { url: address.url, caBundle: Buffer.from(address.caPem).toString('base64') }
  const { webhooks } = manifest as WebhookConfiguration
  return { ...manifest, webhooks: webhooks.map((webhook) => ({ ...webhook, clientConfig })) } as KubeObject
}

/** @param more types beyond our own and those that are built in */
export async function applyObjects(
  client: KubeClient,
  objects: readonly KubeObject[],
  more: readonly Resource[] = [],
): Promise<void> {
  await installManifests(client, objects, { resources: [...KINDS.map((kind) => kind.resource), ...more] })
}
