import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { loadAll } from 'js-yaml'
import type { KubeObject } from '../../src/core/object.ts'
import { KINDS } from '../../src/crds/index.ts'
import type { KubeClient } from '../../src/kube/client.ts'
import { installManifests } from '../../src/kube/crds.ts'

const deploy = join(import.meta.dirname, '../../deploy')

/** Of the manifests, what the embedded platform needs: its processes run beside the cluster, not in it. */
const MANIFESTS = ['namespace.yaml', 'rbac.yaml', 'policies.yaml']

export function readManifests(path: string): KubeObject[] {
  const documents = loadAll(readFileSync(path, 'utf8')) as (KubeObject | null)[]
  return documents.filter((document) => document !== null)
}

export function crdManifests(): KubeObject[] {
  const folder = join(deploy, 'crds')
  const files = readdirSync(folder).filter((name) => name.endsWith('.yaml') && name !== 'kustomization.yaml')
  return files.sort().flatMap((name) => readManifests(join(folder, name)))
}

/** Applies CRDs, namespace, rights and policies; what is as it should be is not written. */
export async function applyManifests(client: KubeClient): Promise<void> {
  await installManifests(client, [
    ...crdManifests(),
    ...MANIFESTS.flatMap((name) => readManifests(join(deploy, 'manifests', name))),
  ])
}

export async function applyObjects(client: KubeClient, objects: readonly KubeObject[]): Promise<void> {
  await installManifests(client, objects, { resources: KINDS.map((kind) => kind.resource) })
}
