import { SYSTEM_NAMESPACE } from '../../src/core/names.ts'
import type { KubeObject } from '../../src/core/object.ts'
import { ManagedIdentity } from '../../src/crds/managedidentities.ts'
import { SecretVault } from '../../src/crds/vaults.ts'
import { KEYS_SECRET } from '../../src/identity/keyStore.ts'
import { configMap, secret } from '../../src/kube/builtin.ts'
import { promised, until } from '../make/until.ts'
import { objectOf } from '../worlds/fleet.ts'
import { type Oracle, oracle, seconds, statuses, within } from './oracle.ts'
import { everySecond, type Scene, type TimedReply } from './scene.ts'

const vector = (name: string) => `/vectorclusters/${name}`
/** Open connections stay open but transfer nothing any more. */
export async function halfOpen(scene: Scene): Promise<Oracle[]> {
  const { own, home, resources } = scene
  own.wire?.silence()
  const name = `quiet-${Date.now()}`
  await own.admin.create(SecretVault.resource, objectOf(SecretVault, name, home, {}))
  const isListed = async () => (await scene.call('GET', `${resources}/secretvaults?search=${name}`)).text.includes(name)
  const facade = await within('the facade lists the vault', promised(60_000), isListed)
  const isSeen = async () => (await own.admin.get(SecretVault.resource, { namespace: home, name })).status !== undefined
  const controllers = facade + (await within('the controllers report a status', promised(60_000), isSeen))
  const kind = ManagedIdentity.plural
  const after = await scene.call('GET', `${resources}/${kind}`)
  return [
    oracle(
      'the facade lists a new vault within 30 s of a half-open connection',
      facade <= promised(30_000),
      seconds(facade),
    ),
    oracle('the controllers reconcile it within 30 s', controllers <= promised(30_000), seconds(controllers)),
    oracle('responses have no Age header afterwards', !after.headers.has('age'), after.headers.get('age') ?? 'none'),
  ]
}

/** etcd is restored to an earlier state while the platform runs. */
export async function restored(scene: Scene): Promise<Oracle[]> {
  const { resources } = scene
  const [kept, lost] = [`kept-${Date.now()}`, `lost-${Date.now()}`]
  const spec = {}
  await scene.call('POST', resources + vector(kept), spec)
  await scene.backUp()
  await until(
    'writes work again',
    async () => (await scene.call('POST', resources + vector(lost), spec)).status === 201,
  )
  await outgrow(scene, 1_000)
  // The cache of the kind is at least that recent.
  await scene.call('PATCH', resources + vector(lost), { tags: { round: 'last' } })
  await scene.restore()
  // A refusal lists nothing either: the cached data may be too old to answer from for a moment.
  const isGone = async () => {
    const { status, text } = await scene.call('GET', `${resources}/vectorclusters`)
    return status === 200 && !text.includes(`"${lost}"`)
  }
  const gone = await within('the lost object is not listed', promised(60_000), isGone)
  const patched = await answered(() => scene.call('PATCH', resources + vector(kept), { tags: { after: 'restore' } }))
  const isRead = async () => (await scene.call('GET', resources + vector(kept))).text.includes('"restore"')
  const read = await within('the write is read', promised(30_000), isRead)
  return [
    oracle('an object lost by the restore is not listed after 30 s', gone <= promised(30_000), seconds(gone)),
    oracle('a write to a remaining object is accepted', patched.status === 200, String(patched.status)),
    oracle('the write is read within 1 s', read <= promised(1_000), seconds(read)),
  ]
}

/** Makes the lost history longer than what the restored one adds by itself before the next read. */
async function outgrow({ own: { admin }, home }: Scene, versions: number): Promise<void> {
  const ref = { namespace: home, name: 'rounds' }
  await admin.create(configMap, { apiVersion: 'v1', kind: 'ConfigMap', metadata: ref } as KubeObject)
  for (let round = 1; round <= versions; round += 1)
    await admin.mergePatch(configMap, ref, { data: { round: String(round) } })
}

/** A short outage first, so that code loaded and compiled during one does not count as growth in the next. */
async function warmUp(scene: Scene, name: string): Promise<void> {
  const path = scene.resources + vector(name)
  const change = () => scene.call('PATCH', path, { tags: { warm: 'up' } })
  await scene.withoutControlPlane(() =>
    everySecond(3, async () => void (await Promise.all([scene.call('GET', path), scene.readiness(), change()]))),
  )
  await within('writes are accepted', promised(60_000), async () => (await change()).status === 200)
  // A watch that is not back yet would count as lost since this outage, and not since the next.
  await within(
    'all watches are back',
    promised(60_000),
    async () => !(await scene.call('GET', path)).headers.has('age'),
  )
}

/** The control plane is unavailable. `bound` is how long reads may be answered, in seconds. */
export async function away(scene: Scene, duration: number, bound: number): Promise<Oracle[]> {
  const { resources, own } = scene
  const name = `away-${Date.now()}`
  await scene.call('POST', resources + vector(name), {})
  await warmUp(scene, name)
  const before = await scene.memory()
  const reads: (TimedReply & { second: number })[] = []
  const ready: (TimedReply & { second: number })[] = []
  const writes: Promise<TimedReply>[] = []
  await scene.withoutControlPlane(() =>
    everySecond(duration, async (second) => {
      reads.push({ ...(await scene.call('GET', resources + vector(name))), second })
      ready.push({ ...(await scene.readiness()), second })
      if (second % 5 === 4) writes.push(scene.call('PATCH', resources + vector(name), { tags: { at: String(second) } }))
    }),
  )
  const refused = await Promise.all(writes)
  const peak = await scene.memory()
  const back: TimedReply[] = []
  const probe = async () => {
    back.push(await scene.call('PATCH', resources + vector(name), { tags: { back: String(back.length) } }))
    return back.at(-1)?.status === 200
  }
  const served = await within('writes are accepted', promised(60_000), probe)
  await everySecond(5, async () => void (await probe()))
  const late = `late-${Date.now()}`
  await own.admin.create(SecretVault.resource, objectOf(SecretVault, late, scene.home, {}))
  const isListed = async () => (await scene.call('GET', `${resources}/secretvaults?search=${late}`)).text.includes(late)
  const listed = await within('a new vault is listed', promised(30_000), isListed)
  const after = await scene.memory()
  const old = reads.filter(({ second }) => second > bound + 5)
  const young = reads.filter(({ second }) => second >= 5 && second < bound - 3)
  const hasRetryAfter = ({ headers }: TimedReply) => headers.has('retry-after')
  const slowest = Math.max(...refused.map(({ milliseconds }) => milliseconds))
  const grown = (megabytes: number) => `${before.toFixed(0)} to ${megabytes.toFixed(0)} MB`
  return [
    oracle(
      'reads have an Age header',
      young.every(({ status, headers }) => status === 200 && headers.has('age')),
      statuses(young),
    ),
    oracle(
      `reads are 503 with Retry-After after ${bound} s`,
      old.every((heard) => heard.status === 503 && hasRetryAfter(heard)),
      statuses(old),
    ),
    oracle(
      '/readyz returns 503 with api-server',
      ready
        .filter(({ second }) => second > bound + 5)
        .every(({ status, text }) => status === 503 && text.includes('api-server')),
      statuses(ready),
    ),
    oracle(
      'writes are 503 with Retry-After',
      refused.every((heard) => heard.status === 503 && hasRetryAfter(heard)),
      statuses(refused),
    ),
    oracle('writes are refused within 10 s', slowest <= promised(10_000), seconds(slowest)),
    oracle(
      'no response is 500 after the return',
      back.every(({ status }) => status !== 500),
      statuses(back),
    ),
    oracle('writes are accepted within 10 s of its return', served <= promised(10_000), seconds(served)),
    oracle('watches are back within 10 s', listed <= promised(10_000), seconds(listed)),
    oracle('memory grows at most 50 MB during the outage', peak <= before + 50, grown(peak)),
    oracle('memory grows at most 50 MB afterwards', after <= before + 50, grown(after)),
  ]
}

/** An object created through one replica can be changed and deleted through another at once. */
export async function elsewhere(scene: Scene, rounds: number): Promise<Oracle[]> {
  const other = await scene.replica(0)
  const changes: TimedReply[] = []
  const deletions: TimedReply[] = []
  for (let round = 0; round < rounds; round += 1) {
    const tags = { round: String(round) }
    changes.push(await rightAfterCreate(scene, (path) => scene.call('PATCH', path, { tags }, other)))
    deletions.push(await rightAfterCreate(scene, (path) => scene.call('DELETE', path, undefined, other)))
  }
  return [
    oracle(
      'PATCH at another facade right after a create returns 200',
      changes.every(({ status }) => status === 200),
      statuses(changes),
    ),
    oracle(
      'DELETE at another facade right after a create returns 2xx',
      deletions.every(({ status }) => status >= 200 && status < 300),
      statuses(deletions),
    ),
  ]
}

/** The answer to the second of two requests, or to the first if that was refused. */
function rightAfterCreate(scene: Scene, ask: (path: string) => Promise<TimedReply>): Promise<TimedReply> {
  return answered(async () => {
    const path = scene.resources + vector(`there-${crypto.randomUUID().slice(0, 8)}`)
    const made = await scene.call('POST', path, {})
    return made.status === 201 ? await ask(path) : made
  })
}

/** Retried if an API server on a busy machine was too slow, which says nothing about the rule in question. */
async function answered(ask: () => Promise<TimedReply>): Promise<TimedReply> {
  let reply = await ask()
  const isAnswered = async () => {
    if (reply.status === 503) reply = await ask()
    return reply.status !== 503
  }
  await until('the answer is not 503', isAnswered, promised(1_000)).catch(() => {})
  return reply
}

/** The signing keys are replaced at once, as after a leak. */
export async function keysChanged(scene: Scene): Promise<Oracle[]> {
  const [former, formerKey] = [scene.token, keyOf(scene.token)]
  const origins = [scene.own.platform.facadeUrl, await scene.replica(0)]
  const list = `${scene.resources}/vectorclusters`
  const statusAt = async (origin: string, token = scene.token) =>
    (await scene.call('GET', list, undefined, origin, token)).status
  await scene.own.admin.remove(secret, { namespace: SYSTEM_NAMESPACE, name: KEYS_SECRET })
  const isSignedAnew = async () => {
    await scene.renewToken()
    return keyOf(scene.token) !== formerKey
  }
  const signed = await within('tokens are signed with a new key', promised(30_000), isSignedAnew)
  const isEverywhere = (status: number, token?: string) => async () =>
    (await Promise.all(origins.map((origin) => statusAt(origin, token)))).every((each) => each === status)
  const accepted = await within('a new token is accepted everywhere', promised(60_000), isEverywhere(200))
  const refused = await within('a former token is refused everywhere', promised(60_000), isEverywhere(401, former))
  return [
    oracle('tokens are signed with the new key within 10 s', signed <= promised(10_000), seconds(signed)),
    oracle(
      'both facades accept the new key within 2 s of the first token',
      accepted <= promised(2_000),
      seconds(accepted),
    ),
    oracle(
      'both facades refuse tokens of the former key within 2 s after that',
      refused <= promised(2_000),
      seconds(refused),
    ),
  ]
}

/** The id of the key that a token is signed with. */
function keyOf(token: string): string {
  const [header = ''] = token.split('.')
  return (JSON.parse(Buffer.from(header, 'base64url').toString()) as { kid: string }).kid
}
