import { SYSTEM_NAMESPACE } from '../../src/core/names.ts'
import { SecretVault } from '../../src/crds/vaults.ts'
import { lease } from '../../src/kube/builtin.ts'
import type { LeaseObject } from '../../src/kube/lease.ts'
import { until } from '../make/until.ts'
import { objectOf } from '../worlds/fleet.ts'
import { type Oracle, oracle, seconds, within } from './oracle.ts'
import type { Scene } from './scene.ts'

const LEASE = { namespace: SYSTEM_NAMESPACE, name: 'freehold-controllers' }

/** The leading process is killed while another is standing by; then the new leader is killed. */
export async function leaderLost(scene: Scene): Promise<Oracle[]> {
  const { own } = scene
  const holder = async () => (await own.admin.get<LeaseObject>(lease, LEASE)).spec?.holderIdentity
  const taken: number[] = []
  const served: number[] = []
  const killing = async (kill: () => Promise<void>) => {
    const former = await holder()
    const began = performance.now()
    await kill()
    const name = `orphan-${Date.now()}`
    await own.admin.create(SecretVault.resource, objectOf(SecretVault, name, scene.home, {}))
    await within('another process leads', 60_000, async () => (await holder()) !== former)
    taken.push(performance.now() - began)
    const ref = { namespace: scene.home, name }
    await within(
      'the new leader reconciles',
      60_000,
      async () => (await own.admin.get(SecretVault.resource, ref)).status !== undefined,
    )
    served.push(performance.now() - began)
  }
  await scene.standby()
  await until('a process leads', async () => (await holder()) !== undefined)
  await killing(() => own.endOperator('SIGKILL'))
  await own.startOperator()
  await killing(() => scene.endStandby())
  await scene.standby()
  return [
    oracle('a killed leader is replaced within 10 s', Math.max(...taken) <= 10_000, taken.map(seconds).join(', ')),
    oracle('the new leader reconciles within 20 s', Math.max(...served) <= 20_000, served.map(seconds).join(', ')),
  ]
}
