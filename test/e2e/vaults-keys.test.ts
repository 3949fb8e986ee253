// @inTurn plain: fills the platform, reads its etcd, replaces its platform keys and kills its operator.
import { randomBytes } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { cp, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { expect } from 'chai'
import { layout } from '../../scripts/controlplane/flags.ts'
import { entryName, valueNames } from '../../src/contracts/vaults/names.ts'
import { groupNamespace } from '../../src/core/names.ts'
import type { KubeObject } from '../../src/core/object.ts'
import { SecretVault, VaultEntry } from '../../src/crds/vaults.ts'
import { configMap, event, secret } from '../../src/kube/builtin.ts'
import { etcdContent } from '../cluster/etcd.ts'
import { borrowPlatform, giveBack } from '../cluster/lent.ts'
import type { OwnPlatform } from '../cluster/platform.ts'
import { TEST_CONFIG } from '../config.ts'
import { until } from '../make/until.ts'
import { callOwn } from '../worlds/ownFacade.ts'

const SECRETS = TEST_CONFIG.sized(20, 1_000)
const VERSIONS = 10
const AT_ONCE = 16
const READS_PER_SECOND = 50
const VAULT = 'safe'
const SETTINGS = {
  PLATFORM_REQUESTS_PER_MINUTE: '1000000',
  PLATFORM_LOG_LEVEL: 'debug',
}

/** The content of a Secret, without the API server's encryption at rest and all base64. */
function contentsOf({ data = {} }: StoredSecret): string[] {
  return Object.values(data).flatMap((text) => {
    const content = Buffer.from(text, 'base64').toString()
    return [content, ...content.split('.').map((part) => Buffer.from(part, 'base64url').toString('latin1'))]
  })
}

type StoredSecret = KubeObject & { data?: Record<string, string>; type?: string }

describe(`${SECRETS} vault secrets with ${VERSIONS} versions each`, () => {
  let own: OwnPlatform
  let group: string
  let home: string
  const planted = new Map<string, string>()

  const path = (name: string) => `${group}/resources/secretvaults/${VAULT}/secrets/${name}`
  const nameOf = (index: number) => `secret-${index}`
  const keysFile = () => join(own.controlPlane.folder, 'platform', 'vault-keys.json')

  const call = (method: string, at: string, body?: object) => callOwn(own, method, at, body)
  async function expectCall(status: number, ...given: Parameters<typeof call>): Promise<string> {
    const answer = await call(...given)
    if (answer.status !== status) throw new Error(`${given[0]} ${given[1]}: ${answer.status} ${answer.text}`)
    return answer.text
  }
  async function inParallel<Item>(items: readonly Item[], work: (item: Item) => Promise<void>): Promise<void> {
    const left = [...items]
    const worker = async () => {
      for (let item = left.shift(); item !== undefined; item = left.shift()) await work(item)
    }
    await Promise.all(Array.from({ length: AT_ONCE }, worker))
  }
  const vaultStatus = async () =>
    ((await own.admin.get(SecretVault.resource, { namespace: home, name: VAULT })) as unknown as SecretVault).status
  const storedKeys = async () => (JSON.parse(await readFile(keysFile(), 'utf8')) as { keys: { kid: string }[] }).keys
  const changeKeys = async (change: (keys: { kid: string }[]) => object[]): Promise<void> =>
    writeFile(keysFile(), JSON.stringify({ keys: change(await storedKeys()) }), { mode: 0o600 })
  const addKey = (kid: string) =>
    changeKeys((keys) => [...keys, { kty: 'oct', kid, k: randomBytes(32).toString('base64url') }])
  const retire = (kid: string) => changeKeys((keys) => keys.filter((key) => key.kid !== kid))
  /** The facade and the controllers each report which keys they have read. */
  const untilRead = (words: string) =>
    until(`the operator logs ${words}`, async () => (await readFile(own.operatorLog, 'utf8')).split(words).length > 2)
  const untilWrappedBy = (kid: string) =>
    until(
      `every data key is under ${kid}`,
      async () => {
        const status = await vaultStatus()
        if (status?.keyId === kid && status.pendingRewraps === 0) return true
        throw new Error(`${status?.keyId}: ${status?.pendingRewraps} left`)
      },
      600_000,
    )
  async function expectReadable(name: string): Promise<void> {
    const { value } = JSON.parse(await expectCall(200, 'GET', path(name))) as { value: string }
    expect(value).to.equal(planted.get(`${name} ${VERSIONS}`))
  }

  before(async () => {
    own = await borrowPlatform('plain')
    await own.startOperator(SETTINGS)
    const { id } = JSON.parse(await expectCall(201, 'POST', '/boundaries', { displayName: 'Keys' })) as { id: string }
    group = `/boundaries/${id}/resourcegroups/keys`
    home = groupNamespace(id, 'keys')
    await expectCall(201, 'POST', group)
    await until(
      'the group runs',
      async () => (JSON.parse(await expectCall(200, 'GET', group)) as { status: string }).status === 'Running',
    )
    await expectCall(201, 'POST', `${group}/resources/secretvaults/${VAULT}`, {})
    for (let index = 0; index < SECRETS; index += 1)
      for (let version = 1; version <= VERSIONS; version += 1)
        planted.set(`${nameOf(index)} ${version}`, `canary-${randomBytes(18).toString('hex')}`)
    const names = Array.from({ length: SECRETS }, (_, index) => nameOf(index))
    const began = performance.now()
    await inParallel(names, async (name) => {
      for (let version = 1; version <= VERSIONS; version += 1)
        await expectCall(200, 'PUT', path(name), { value: planted.get(`${name} ${version}`) })
    })
    const seconds = (performance.now() - began) / 1000
    console.log(
      `      ${planted.size} values in ${seconds.toFixed(1)} s, ${(planted.size / seconds).toFixed(0)} a second`,
    )
  })
  after(() => giveBack(own))

  it('can all be read', async () => {
    await inParallel([...planted], async ([key, value]) => {
      const [name = '', version = ''] = key.split(' ')
      const read = JSON.parse(await expectCall(200, 'GET', `${path(name)}/versions/${version}`)) as { value: string }
      expect(read.value).to.equal(value)
    })
    await until('the vault counts them', async () => (await vaultStatus())?.secretCount === SECRETS)
  })

  it('are in plain text neither in etcd nor in objects, logs and events', async () => {
    // Proves that the search finds values: one is stored in a ConfigMap.
    const decoy = `canary-${randomBytes(18).toString('hex')}`
    const values = new Set([...planted.values(), decoy])
    const bait = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'bait', namespace: home }, data: { decoy } }
    await own.admin.create(configMap, bait as KubeObject)
    const found: string[] = []
    let seen = 0
    const look = (where: string, text: string) => {
      seen += 1
      for (const [value] of text.matchAll(/canary-[0-9a-f]{36}/g)) if (values.has(value)) found.push(where)
    }
    for await (const { key, value } of etcdContent(own.controlPlane.folder))
      look(`etcd ${key}`, value.toString('latin1'))
    for (const resource of [secret, event, configMap, VaultEntry.resource, SecretVault.resource]) {
      const { items } = await own.admin.list<StoredSecret>(resource, { namespace: home })
      for (const item of items) {
        look(`${resource.plural}/${item.metadata.name}`, JSON.stringify(item))
        if (resource === secret) for (const text of contentsOf(item)) look(`secrets/${item.metadata.name}`, text)
      }
    }
    const logs = join(own.controlPlane.folder, 'logs')
    for (const file of readdirSync(logs)) look(`logs/${file}`, readFileSync(join(logs, file), 'utf8'))
    expect(seen).to.be.greaterThan(SECRETS * (VERSIONS + 2) * 2)
    const elsewhere = found.filter((where) => !/bait|^logs\/audit/.test(where))
    expect([...new Set(elsewhere)]).to.deep.equal([])
    expect(found.some((where) => where.startsWith('etcd ') && where.endsWith('/bait'))).to.equal(true)
    await own.admin.remove(configMap, { namespace: home, name: 'bait' })
  })

  it('can be read throughout the rotation of the platform key', async () => {
    const before = (await storedKeys())[0]?.kid ?? ''
    let [reads, isOver] = [0, false]
    const failures: string[] = []
    const underWay = new Set<Promise<void>>()
    const reader = (async () => {
      for (let index = 0; !isOver; index += 1) {
        const read = expectReadable(nameOf(index % SECRETS))
          .then(() => {
            reads += 1
          })
          .catch((error: unknown) => void failures.push(String(error)))
          .finally(() => underWay.delete(read))
        underWay.add(read)
        await delay(1000 / READS_PER_SECOND)
      }
      await Promise.all(underWay)
    })()
    const began = performance.now()
    await addKey('second')
    await untilWrappedBy('second')
    await retire(before)
    await untilRead('"keys":["second"]')
    // Every secret once more under the new key alone.
    const goal = reads + SECRETS
    await until('as many reads as secrets', () => reads + failures.length >= goal, 120_000)
    isOver = true
    await reader
    console.log(
      `      ${reads} reads, ${failures.length} failed, in ${((performance.now() - began) / 1000).toFixed(1)} s`,
    )
    expect(failures).to.deep.equal([])
    expect(reads).to.be.greaterThan(SECRETS)
  })

  it('are all re-wrapped after the operator was killed in the middle', async () => {
    await addKey('third')
    await until('re-wrapping has begun', async () => {
      const { items } = await own.admin.list(VaultEntry.resource, { namespace: home })
      return items.some((item) => (item as unknown as VaultEntry).status?.keyId === 'third')
    })
    await own.endOperator('SIGKILL')
    await own.startOperator(SETTINGS)
    await untilWrappedBy('third')
    await expectReadable(nameOf(0))
    const { items } = await own.admin.list<StoredSecret>(secret, { namespace: home })
    const keys = items.filter(({ type }) => type === 'freehold.dev/vault-key')
    expect(keys).to.have.length(SECRETS)
    const ids = keys.map(({ data }) => {
      const [header = ''] = Buffer.from(data?.jwe ?? '', 'base64')
        .toString()
        .split('.')
      return (JSON.parse(Buffer.from(header, 'base64url').toString()) as { kid: string }).kid
    })
    expect([...new Set(ids)]).to.deep.equal(['third'])
  })

  it('cannot be read from a backup of etcd after purge and retirement of the platform key', async () => {
    const { etcdData } = layout(own.controlPlane.folder)
    const backup = `${etcdData}-backup`
    await own.restart(SETTINGS, () => cp(etcdData, backup, { recursive: true }))
    const name = nameOf(0)
    await expectReadable(name)
    await expectCall(200, 'DELETE', path(name))
    await expectCall(204, 'POST', `${path(name)}/purge`)
    const retired = (await storedKeys()).filter(({ kid }) => kid === 'third')
    await addKey('fourth')
    await untilWrappedBy('fourth')
    await retire('second')
    await retire('third')
    await untilRead('"keys":["fourth"]')
    const keySecret = valueNames(entryName(VAULT, name), 1).key
    await until('the Secrets are gone', async () => {
      const { items } = await own.admin.list(secret, { namespace: home })
      return !items.some(({ metadata }) => metadata.name === keySecret)
    })
    await expectReadable(nameOf(1))

    await own.restart(SETTINGS, async () => {
      await rm(etcdData, { recursive: true })
      await cp(backup, etcdData, { recursive: true })
    })
    await until('the purged secret is there again', async () => {
      const { text } = await call('GET', `${group}/resources/secretvaults/${VAULT}/secrets?search=${name}`)
      return text.includes(`"${name}"`)
    })
    for (let version = 1; version <= VERSIONS; version += 1) {
      const answer = await call('GET', `${path(name)}/versions/${version}`)
      expect(answer.status, answer.text).to.equal(503)
      expect(answer.text).not.to.contain(planted.get(`${name} ${version}`))
    }
    // Only the key was missing: the backup contained the whole value.
    await changeKeys((keys) => [...retired, ...keys])
    await until('the retired key opens it', async () => (await call('GET', path(name))).status === 200)
    await expectReadable(name)
  })
})
