import { randomUUID } from 'node:crypto'
import { boundaryNamespace } from '../../src/core/names.ts'
import { ResourceGroup } from '../../src/crds/resourcegroups.ts'
import { VectorCluster } from '../../src/crds/vector.ts'
import { statefulSet } from '../../src/kube/builtin.ts'
import { until } from '../make/until.ts'
import { objectOf } from '../worlds/fleet.ts'
import { makeServiceAccount } from '../worlds/tenant.ts'
import { type Oracle, oracle, statuses, within } from './oracle.ts'
import type { Scene, TimedReply } from './scene.ts'

/** What many request at once and few can have: one round, with the facades to use. */
type Contest = { winners: number; loser: string; round: (origins: readonly string[]) => Promise<readonly TimedReply[]> }

const ROUNDS = 5
const QUOTA = 5
const ASKERS = 15

/** At three facades at once: exactly as many succeed as may, and the others receive the reason. */
export async function races(scene: Scene): Promise<Oracle[]> {
  const origins = [scene.own.platform.facadeUrl, await scene.replica(0), await scene.replica(1)]
  await scene.standby()
  const contests: Record<string, Contest> = {
    'creations within a quota': { winners: QUOTA, loser: '422 QUOTA_EXCEEDED', round: quota(scene) },
    'snapshots with different names': { winners: 1, loser: '409 SNAPSHOT_RUNNING', round: await snapshots(scene) },
    'one vault name in three groups': { winners: 1, loser: '409 VAULT_NAME_TAKEN', round: await vaults(scene) },
    'invitations of one address': { winners: 1, loser: '409 duplicate_pending', round: invitations(scene) },
    'tenants of one name': { winners: 1, loser: '409 already_exists', round: tenants(scene) },
    'the removal of the last two Owners': { winners: 1, loser: '409 LAST_OWNER', round: owners(scene) },
  }
  const oracles: Oracle[] = []
  for (const [what, { winners, loser, round }] of Object.entries(contests)) {
    const rounds: (readonly TimedReply[])[] = []
    for (let count = 0; count < ROUNDS; count += 1) rounds.push(await round(origins))
    const isRight = (answers: readonly TimedReply[]) =>
      answers.filter(({ status }) => status < 300).length === winners &&
      answers.filter(({ status }) => status >= 300).every((heard) => statuses([heard]) === `1 of ${loser}`)
    const seen = rounds.map((answers) => statuses(answers)).join('; ')
    oracles.push(oracle(`${what}: ${winners} of ${rounds[0]?.length}`, rounds.every(isRight), seen))
  }
  return [...oracles, await kept(scene), await byKubectl(scene)]
}

/** Names of the groups in which requests competed for a quota. */
const fought: { path: string; home: string }[] = []

/** A separate group with room for five, once every facade knows it. */
async function limitedGroup(scene: Scene, origins: readonly string[]): Promise<{ path: string; home: string }> {
  const name = `limited-${randomUUID().slice(0, 8)}`
  const group = await scene.group(name)
  const ref = { namespace: boundaryNamespace(scene.boundaryId), name }
  await scene.own.admin.mergePatch(ResourceGroup.resource, ref, { spec: { quota: { resources: QUOTA } } })
  const path = group.path.replace(/\/resources$/, '')
  const knows = async (origin: string) =>
    (await scene.call('GET', path, undefined, origin)).text.includes(`"resources":${QUOTA}`)
  await until('every facade returns the quota', async () => (await Promise.all(origins.map(knows))).every(Boolean))
  return group
}

function quota(scene: Scene) {
  return async (origins: readonly string[]) => {
    const group = await limitedGroup(scene, origins)
    fought.push(group)
    return askAll(ASKERS, origins, (origin, index) =>
      scene.call('POST', `${group.path}/vectorclusters/place-${index}`, {}, origin),
    )
  }
}

/** The successful ones run, and no others. */
async function kept(scene: Scene): Promise<Oracle> {
  const running = async (home: string) => {
    const { items } = await scene.own.admin.list(VectorCluster.resource, { namespace: home })
    return items.filter(({ status }) => (status as { readyReplicas?: number } | undefined)?.readyReplicas === 1).length
  }
  const all = async () => Promise.all(fought.map(({ home }) => running(home)))
  await within('all created databases run', 120_000, async () => (await all()).every((count) => count === QUOTA))
  const counts = await all()
  const holds = counts.every((count) => count === QUOTA)
  return oracle('every database created within the quota runs', holds, `${counts.join(', ')} run`)
}

async function byKubectl(scene: Scene): Promise<Oracle> {
  const { own } = scene
  const { home } = await limitedGroup(scene, [own.platform.facadeUrl])
  const names = Array.from({ length: ASKERS }, (_, index) => `place-${index}`)
  await Promise.all(
    names.map((name) => own.admin.create(VectorCluster.resource, objectOf(VectorCluster, name, home, {}))),
  )
  type Status = { readyReplicas?: number; conditions?: { reason?: string }[] }
  const count = async (isSo: (status: Status) => boolean) =>
    (await own.admin.list(VectorCluster.resource, { namespace: home })).items.filter(
      ({ status }) => status !== undefined && isSo(status as Status),
    ).length
  const waiting = () => count(({ conditions }) => conditions?.some(({ reason }) => reason === 'QuotaExceeded') === true)
  const running = () => count(({ readyReplicas }) => readyReplicas === 1)
  const isSettled = async () => (await running()) === QUOTA && (await waiting()) === ASKERS - QUOTA
  await within('five run and ten wait', 120_000, isSettled)
  const sets = (await own.admin.list(statefulSet, { namespace: home })).items.length
  const [run, wait] = [await running(), await waiting()]
  const holds = run === QUOTA && wait === ASKERS - QUOTA && sets === QUOTA
  return oracle(
    'of 15 created by kubectl at once, 5 run, with 5 StatefulSets',
    holds,
    `${run} run, ${wait} wait, ${sets} workloads`,
  )
}

async function snapshots(scene: Scene) {
  const { path } = await scene.group('snapshots')
  let count = 0
  return async (origins: readonly string[]) => {
    count += 1
    const database = `${path}/relationalclusters/ledger-${count}`
    await scene.call('POST', database, {})
    await until(
      'the database runs',
      async () => (await scene.call('GET', database)).text.includes('"Running"'),
      120_000,
    )
    // All are requested before any of them is finished.
    return scene.whileNothingIsPlayed(() =>
      askAll(6, origins, (origin, index) =>
        scene.call('POST', `${database}/snapshots`, { name: `before-${index}` }, origin),
      ),
    )
  }
}

async function vaults(scene: Scene) {
  const groups = [await scene.group('one'), await scene.group('two'), await scene.group('three')]
  return (origins: readonly string[]) => {
    const name = `vault-${randomUUID().slice(0, 8)}`
    return askAll(3, origins, (origin, index) =>
      scene.call('POST', `${groups[index]?.path}/secretvaults/${name}`, {}, origin),
    )
  }
}

function invitations(scene: Scene) {
  const path = `/boundaries/${scene.boundaryId}/providers/authorization/invitations`
  return (origins: readonly string[]) => {
    const email = `anna-${randomUUID().slice(0, 8)}@example.com`
    return askAll(9, origins, (origin) => scene.call('POST', path, { email, roleDefinitionName: 'Reader' }, origin))
  }
}

function tenants(scene: Scene) {
  return (origins: readonly string[]) => {
    const displayName = `Tenant ${randomUUID()}`
    return askAll(9, origins, (origin) => scene.call('POST', '/admin/tenants', { displayName }, origin))
  }
}

/** In a separate boundary with two Owners, each of whom is removed through another facade. */
function owners(scene: Scene) {
  return async (origins: readonly string[]) => {
    const { admin, platform } = scene.own
    const made = await scene.call('POST', '/boundaries', { displayName: 'Two Owners' })
    const boundary = `/boundaries/${(JSON.parse(made.text) as { id: string }).id}`
    const { clientId } = await makeServiceAccount(admin, 'Second Owner', platform.tokenUrl)
    const second = { principalId: clientId, principalType: 'ServicePrincipal', roleDefinitionName: 'Owner' }
    const own = async (origin: string) => {
      const { text } = await scene.call('GET', `${boundary}/members`, undefined, origin)
      const { items = [] } = JSON.parse(text) as { items?: { assignmentId: string; scope: string; origin: string }[] }
      return items.filter(({ scope }) => scope === boundary).map(({ assignmentId }) => assignmentId)
    }
    await until('the second is an Owner', async () => {
      const { status } = await scene.call('POST', `${boundary}/members`, second)
      return status === 201 || status === 409
    })
    const isKnown = async (origin: string) => (await own(origin)).filter((id) => id !== 'initial-owner').length === 2
    await until('every facade lists both', async () => (await Promise.all(origins.map(isKnown))).every(Boolean))
    const ids = await own(platform.facadeUrl)
    return askAll(2, origins, (origin, index) =>
      scene.call('DELETE', `${boundary}/members/${ids[index]}`, undefined, origin),
    )
  }
}

/** So many concurrent requests, distributed over the facades. */
function askAll(
  count: number,
  origins: readonly string[],
  ask: (origin: string, index: number) => Promise<TimedReply>,
): Promise<readonly TimedReply[]> {
  return Promise.all(Array.from({ length: count }, (_, index) => ask(origins[index % origins.length] ?? '', index)))
}
