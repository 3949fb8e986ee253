import { isDeepStrictEqual } from 'node:util'
import { PREFIX } from '../../core/labels.ts'
import type { SecretObject } from '../../core/secretData.ts'
import { secret as secretChild, type WorkloadInput } from '../../desired/workload/child.ts'
import { secret } from '../../kube/builtin.ts'
import type { Pass } from '../engine/controller.ts'

/** On a Secret of values: grows with each change of them, and says nothing of them. */
const VERSION_ANNOTATION = `${PREFIX}version`

/**
 * Keeps a Secret of values that pods read at their start; without values there is none.
 *
 * @param data base64
 * @returns the version of the values: with another one, pods start anew
 */
export async function keepVersionedSecret(
  { children }: Pick<Pass, 'children'>,
  shared: WorkloadInput,
  name: string,
  data: Readonly<Record<string, string>>,
): Promise<string | undefined> {
  const held = await children.get<SecretObject>(secret, shared.namespace, name)
  if (Object.keys(data).length === 0) {
    if (held !== undefined) await children.remove(secret, shared.namespace, name)
    return undefined
  }
  const before = Number(held?.metadata.annotations?.[VERSION_ANNOTATION] ?? '0')
  const version = String(isDeepStrictEqual(held?.data, data) ? before : before + 1)
  const desired = secretChild(shared, name, data)
  const metadata = { ...desired.metadata, annotations: { [VERSION_ANNOTATION]: version } }
  await children.ensure({ ...desired, metadata }, { resource: secret })
  return version
}
