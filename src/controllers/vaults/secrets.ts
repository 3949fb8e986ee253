import { valueNames } from '../../contracts/vaults/names.ts'
import { valueSelector } from '../../contracts/vaults/valueSecret.ts'
import { apiVersionOf } from '../../core/object.ts'
import { type Outcome, waiting } from '../../core/outcome.ts'
import { secret } from '../../kube/builtin.ts'
import { RIGHTS_RETRY_MS, rightsMissing, withSecretRights } from '../workload/secrets.ts'
import { type EntryPass, refOfEntry } from './types.ts'

/** Deletes the Secrets of one life, or of all; returns an outcome if that was not possible yet. */
export function removeSecrets(pass: EntryPass, life?: number): Promise<Outcome | undefined> {
  const { namespace, name } = refOfEntry(pass)
  const { client } = pass.workloads
  return withSecretRights(async () => {
    if (life !== undefined) await client.remove(secret, { namespace, name: valueNames(name, life).key })
    const answer = await client.request({
      method: 'DELETE',
      path: `/api/${apiVersionOf(secret)}/namespaces/${namespace}/secrets`,
      query: { labelSelector: valueSelector(name, life) },
    })
    answer.body.resume()
    if (answer.status < 300) return undefined
    if (answer.status === 403) return rightsMissing()
    return waiting('TearingDown', `The API server answered ${answer.status} to the removal of values.`, RIGHTS_RETRY_MS)
  })
}

/** Bounds the deletions of a pass: after a restore nothing records which values are already gone. */
const PRUNED_AT_ONCE = 200

/** Deletes values of versions that newer ones have evicted from the history. */
export async function pruneVersions(pass: EntryPass): Promise<Outcome | undefined> {
  const { namespace, name } = refOfEntry(pass)
  const { history } = (pass.state.entry ?? pass.object).spec
  const oldest = history?.versions[0]?.version
  if (history === undefined || oldest === undefined) return undefined
  const from = Math.max(pass.object.status?.prunedThrough ?? 0, oldest - 1 - PRUNED_AT_ONCE)
  const names = valueNames(name, history.life)
  return withSecretRights(async () => {
    for (let version = from + 1; version < oldest; version += 1)
      await pass.workloads.client.remove(secret, { namespace, name: names.version(version) })
    if (oldest > 1) pass.report({ prunedThrough: oldest - 1 })
    return undefined
  })
}
