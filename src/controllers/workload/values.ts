import { PREFIX } from '../../core/labels.ts'
import type { SecretData, SecretObject } from '../../core/secretData.ts'
import { secret as secretChild, type WorkloadInput } from '../../desired/workload/child.ts'
import { isDeployed, type LiveDeployment } from '../../desired/workload/podProblems.ts'
import { secret } from '../../kube/builtin.ts'
import type { Pass } from '../engine/controller.ts'

/** On a Secret of values: a counter that grows with each change and reveals nothing about the values. */
const VERSION_ANNOTATION = `${PREFIX}version`

/** Whether pods that are not replaced yet may read an entry. Only called for unwanted entries. */
export type StillRead = () => Promise<(key: string) => boolean>

/**
 * Keeps a Secret of values that pods read at start; none without values. An unwanted entry stays while older pods may
 * still restart with it.
 *
 * @returns the version of the values: a new one rolls the pods
 */
export async function keepVersionedSecret(
  { children }: Pick<Pass, 'children'>,
  shared: WorkloadInput,
  name: string,
  { data, stillRead }: { data: SecretData; stillRead: StillRead },
): Promise<{ version: string | undefined; isKept: boolean }> {
  const held = await children.get<SecretObject>(secret, shared.namespace, name)
  const unwanted = Object.entries(held?.data ?? {}).filter(([key]) => !(key in data))
  const isRead = unwanted.length === 0 ? () => false : await stillRead()
  const all = { ...Object.fromEntries(unwanted.filter(([key]) => isRead(key))), ...data }
  if (Object.keys(all).length === 0) {
    if (held !== undefined) await children.remove(secret, shared.namespace, name)
    return { version: undefined, isKept: false }
  }
  const before = Number(held?.metadata.annotations?.[VERSION_ANNOTATION] ?? '0')
  // A removed entry changes the pods' template, which rolls them anyway.
  const isSame = before > 0 && Object.entries(data).every(([key, value]) => held?.data?.[key] === value)
  const version = String(isSame ? before : before + 1)
  const desired = secretChild(shared, name, all)
  const metadata = { ...desired.metadata, annotations: { [VERSION_ANNOTATION]: version } }
  await children.ensure({ ...desired, metadata }, { resource: secret })
  return { version: Object.keys(data).length === 0 ? undefined : version, isKept: true }
}

type Reading = {
  spec?: {
    containers?: { env?: { valueFrom?: { secretKeyRef?: { name: string; key: string } } }[] }[]
    volumes?: { secret?: { secretName?: string; items?: { key: string }[] } }[]
  }
}

/** Whether the pods of a Deployment may read an entry: those of its template, and older ones still running. */
export function mayRead(live: LiveDeployment | undefined, secretName: string, key: string): boolean {
  if (live === undefined) return false
  if (!isDeployed(live)) return true
  const { containers = [], volumes = [] } = (live.spec as { template?: Reading }).template?.spec ?? {}
  const entries = [
    ...containers.flatMap(({ env = [] }) => env.map(({ valueFrom }) => valueFrom?.secretKeyRef)),
    ...volumes.flatMap(({ secret: files }) =>
      (files?.items ?? []).map((item) => ({ name: files?.secretName, key: item.key })),
    ),
  ]
  return entries.some((entry) => entry?.name === secretName && entry.key === key)
}
