import { encodePasswords, type SqlPasswords, sqlNames } from '../../contracts/sql.ts'
import type { KubeObject } from '../../core/object.ts'
import { configMap } from './config.ts'
import { clientService, networkPolicy, peerService, publicService } from './network.ts'
import { type Child, metadataOf, type SqlInput } from './types.ts'

export { statefulSet as sqlWorkload } from './statefulSet.ts'
export type { SqlInput } from './types.ts'

/** The children in the order in which they are written; the Secret comes before them, the StatefulSet after. */
export function sqlSurroundings(input: SqlInput): KubeObject[] {
  const objects = [
    configMap(input),
    peerService(input),
    clientService(input),
    networkPolicy(input),
    publicService(input),
  ]
  return objects.filter((object) => object !== undefined)
}

/** The Secret of the logins. Passwords are generated elsewhere: this only lays them out. */
export function loginSecret(
  input: Pick<SqlInput, 'instance'>,
  passwords: SqlPasswords,
): Child<'Secret', { type: string; data: Record<string, string> }> {
  return {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: metadataOf(input, sqlNames(input.instance.metadata.name).logins),
    type: 'Opaque',
    data: encodePasswords(passwords),
  }
}
