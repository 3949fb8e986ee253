import { SYSTEM_NAMESPACE } from '../../src/core/names.ts'
import type { SecretObject } from '../../src/core/secretData.ts'
import { secret } from '../../src/kube/builtin.ts'
import { HOME } from './seeds.ts'
import type { World } from './world.ts'

/** Of managed identities: whether what pods find is what the account signs in with. */
export async function mountedCredentials(world: World): Promise<{ accounts: number; mounted: boolean[] }> {
  const { items } = await world.server.list<SecretObject>(secret)
  const heldIn = (home: string) =>
    items.flatMap(({ metadata: { namespace }, data }) => (namespace === home ? (data?.['client-secret'] ?? []) : []))
  const ofAccount = heldIn(SYSTEM_NAMESPACE)
  return { accounts: ofAccount.length, mounted: heldIn(HOME).map((value) => ofAccount.includes(value)) }
}
