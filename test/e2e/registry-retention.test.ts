import { readdirSync, readFileSync, statSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import { silentProgress } from '../../scripts/controlplane/index.ts'
import { findRegistry } from '../../scripts/registry/find.ts'
import { SETTINGS_NAME } from '../../src/contracts/platformbackups/names.ts'
import { repositoryObjectName } from '../../src/contracts/registry/names.ts'
import { boundaryNamespace, SYSTEM_NAMESPACE } from '../../src/core/names.ts'
import type { KubeObject } from '../../src/core/object.ts'
import type { AnyKind } from '../../src/crds/define.ts'
import { ComponentInstall } from '../../src/crds/lifecycle.ts'
import { PlatformBackupSettings } from '../../src/crds/platformBackups.ts'
import { RegistryPin, RegistryRepository, RetentionRun } from '../../src/crds/registry.ts'
import { RolloutExecution } from '../../src/crds/rollouts.ts'
import type { KubeClient } from '../../src/kube/client.ts'
import type { KubeError } from '../../src/kube/errors.ts'
import type { PagedListResponse } from '../make/page.ts'
import type { RegistryClient } from '../make/registryClients.ts'
import { imageRegistryContract } from '../suites/imageRegistryContract.ts'
import { registrySuite } from '../suites/registrySuite.ts'
import { call, expectCall, makeBoundary, makeCaller, uniqueName, until } from '../worlds/platform.ts'
import { startRealRegistry } from '../worlds/realRegistry.ts'
import { administrator, clientWithToken, testPlatform } from '../worlds/tenant.ts'

type Run = {
  id: string
  status: string
  startedAt: string
  finishedAt: string | null
  removedManifests: number
  freedBytes: number
  error: string | null
}
type Preview = { repositories: { repository: string; items: { digest: string; action: string; reason: string }[] }[] }

const RUNS = '/v1/registries/retention/runs'
const PINS = '/v1/internal/registries/pins'
const DAY = 86_400_000

describe('the real registry', () => {
  let running: Awaited<ReturnType<typeof startRealRegistry>> | undefined
  before(async function () {
    const program = await findRegistry(silentProgress, new AbortController().signal)
    if (program === undefined) this.skip()
    running = await startRealRegistry(program)
  })
  after(() => running?.stop())
  imageRegistryContract(() => {
    if (running === undefined) throw new Error('No registry runs.')
    return running
  })
})

/** Everything in a folder, and the folder itself. */
const filesIn = (folder: string) => [
  folder,
  ...readdirSync(folder, { recursive: true, encoding: 'utf8' }).map((path) => join(folder, path)),
]

describe('retention of images', () => {
  const { world, client, repository, image, push, digest, makeJob, asOwner } = registrySuite()
  let admin: KubeClient
  let crane: RegistryClient
  before(async () => {
    admin = await administrator()
    crane = await client('token', world.owner.token)
  })
  after(() => admin?.close())

  const stored = async (name: string) => {
    const ref = { namespace: boundaryNamespace(world.boundary), name: repositoryObjectName(name) }
    return (await admin.get(RegistryRepository.resource, ref)) as unknown as RegistryRepository & KubeObject
  }
  /** Backdates pushes, their tokens and files. */
  async function age(name: string): Promise<void> {
    const long = new Date(Date.now() - 90 * DAY)
    const { spec, metadata } = await stored(name)
    const digests = Object.fromEntries(
      Object.keys(spec.digests).map((each) => [each, { pushedAt: long.toISOString(), lastPulledAt: null }]),
    )
    const announcedAt = new Date().toISOString()
    await admin.mergePatch(RegistryRepository.resource, metadata, { spec: { digests, announcedAt } })
    const { auditFolder = '', storageFolder = '' } = testPlatform().registry ?? {}
    for (const file of readdirSync(auditFolder)) {
      const path = join(auditFolder, file)
      const lines = readFileSync(path, 'utf8').split('\n')
      const old = lines.map((line) =>
        line.includes(`"repository":"${name}"`)
          ? line.replace(/"timestamp":"[^"]+"/, `"timestamp":"${long.toISOString()}"`)
          : line,
      )
      writeFileSync(path, old.join('\n'))
    }
    // Only its own images: those of others are new, and their uploads come and go.
    const root = join(storageFolder, 'docker/registry/v2')
    const links = filesIn(join(root, 'repositories', name))
    const sums = new Set(links.flatMap((path) => /\/sha256\/([0-9a-f]{64})/.exec(path)?.[1] ?? []))
    const content = [...sums].flatMap((sum) => filesIn(join(root, 'blobs/sha256', sum.slice(0, 2), sum)))
    for (const path of [...links, ...content]) utimesSync(path, long, long)
  }
  const blobs = () => {
    const root = join(testPlatform().registry?.storageFolder ?? '', 'docker/registry/v2/blobs/sha256')
    return new Set(
      readdirSync(root, { recursive: true, encoding: 'utf8' })
        .filter((path) => path.endsWith('/data') && statSync(join(root, path)).isFile())
        .map((path) => `sha256:${path.split('/')[1]}`),
    )
  }
  const runsEnd = () =>
    until('no run is under way', async () => {
      const { body } = await expectCall<{ items: Run[] }>(200, 'GET', RUNS)
      return body.items.every(({ status }) => !['Running', 'CollectingGarbage'].includes(status))
    })
  const start = async (body?: object) => {
    const answer = await until('a run is taken', async () => {
      const tried = await call<Run>('POST', RUNS, body)
      return tried.status === 202 && tried.body
    })
    return until('the run has ended', async () => {
      const { body: list } = await expectCall<{ items: Run[] }>(200, 'GET', `${RUNS}?limit=500`)
      const found = list.items.find(({ id }) => id === answer.id)
      return found !== undefined && /ed$/.test(found.status) && found.status !== 'Queued' && found
    })
  }
  /** What an image needs at the registry: its manifest, its configuration and its layers. */
  const needsOf = async (target: string) => {
    const manifest = JSON.parse(await crane.succeed('manifest', target)) as {
      config: { digest: string }
      layers: { digest: string }[]
    }
    return [await digest(crane, target), manifest.config.digest, ...manifest.layers.map((each) => each.digest)]
  }

  it('previews and removes old unused manifests and their blobs, and nothing else', async () => {
    const name = repository()
    await push(crane, image(name))
    const lost = await needsOf(image(name))
    await push(crane, image(name))
    const kept = await needsOf(image(name))
    const [running, pinned] = [repository(), repository()]
    for (const target of [running, pinned]) await push(crane, image(target))
    const used = { running: await needsOf(image(running)), pinned: await needsOf(image(pinned)) }
    await push(crane, image(running))
    await push(crane, image(pinned))
    const names = { IMAGE: `${running}@${used.running[0]}` }
    await makeJob(uniqueName('job'), { image: 'docker.io/library/busybox', env: names })
    const pin = { boundary: world.boundary, repository: pinned, digests: [used.pinned[0]] }
    const until2030 = { ...pin, expiresAt: '2030-01-01T00:00:00Z' }
    const put = await expectCall(200, 'PUT', PINS, until2030, asOwner())
    expect(put.headers.get('etag')).to.match(/^"1-/)
    for (const each of [name, running, pinned]) {
      await until('the repository is known', async () => (await stored(each)).status?.digests?.length === 2)
      await age(each)
      await until('its age is known', async () =>
        (await stored(each)).status?.digests?.every(({ pushedAt }) => Date.parse(pushedAt) < Date.now() - 80 * DAY),
      )
    }
    // A push is in progress, with only a layer sent.
    const busy = repository()
    const upload = await beginUpload(busy)
    const path = `/v1/registries/retention/preview?repository=${name}`
    const { body: preview } = await expectCall<Preview>(200, 'GET', path)
    const verdicts = Object.fromEntries(
      preview.repositories.flatMap(({ items }) => items.map((item) => [item.digest, `${item.action} ${item.reason}`])),
    )
    expect(verdicts).to.deep.equal({ [lost[0] ?? '']: 'Remove Untagged', [kept[0] ?? '']: 'Keep Latest' })
    const dry = await start({ dryRun: true })
    expect(dry.status).to.equal('Succeeded')
    expect(dry.removedManifests).to.be.greaterThan(0)
    for (const blob of lost) expect(blobs().has(blob), 'a dry run removes nothing').to.equal(true)
    const run = await start()
    expect(run, JSON.stringify(run)).to.include({ status: 'Succeeded', error: null })
    const left = blobs()
    for (const blob of lost) expect(left.has(blob), `${blob} of what was lost`).to.equal(false)
    for (const blob of [...kept, ...used.running, ...used.pinned]) expect(left.has(blob), blob).to.equal(true)
    expect(left.has(upload), 'an upload in flight').to.equal(true)
    for (const [target, [kind = '']] of [
      [running, used.running],
      [pinned, used.pinned],
    ] as const)
      expect((await crane.run('manifest', `${world.host}/${target}@${kind}`)).code, kind).to.equal(0)
    expect((await crane.run('manifest', `${world.host}/${name}@${lost[0]}`)).code).to.equal(1)
    const { body: audit } = await expectCall<{ items: { digest: string }[] }>(
      200,
      'GET',
      `/resources/registries/audit?repository=${name}&action=Retain`,
    )
    expect(audit.items.map((entry) => entry.digest)).to.deep.equal([lost[0]])
    await until('the repository shows it', async () => (await stored(name)).status?.digests?.length === 1)
  })

  /** A blob that no manifest needs yet, as a client that pushes sends it. @returns its digest */
  async function beginUpload(name: string): Promise<string> {
    const { createHash } = await import('node:crypto')
    const content = uniqueName('layer')
    const sum = `sha256:${createHash('sha256').update(content).digest('hex')}`
    const basic = Buffer.from(`token:${world.owner.token}`).toString('base64')
    const token = await until('a token to push with', async () => {
      const scope = encodeURIComponent(`repository:${name}:pull,push`)
      const headers = { authorization: `Basic ${basic}` }
      const options = { token: null, headers }
      const got = await call<{ token: string }>('GET', `/registry/auth/token?scope=${scope}`, undefined, options)
      return got.status === 200 && got.body.token
    })
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/octet-stream' }
    const begun = await fetch(`http://${world.host}/v2/${name}/blobs/uploads/`, { method: 'POST', headers })
    const target = new URL(begun.headers.get('location') ?? '', `http://${world.host}`)
    target.searchParams.set('digest', sum)
    const sent = await fetch(target, { method: 'PUT', headers, body: content })
    expect(sent.status).to.equal(201)
    return sum
  }

  /**
   * The answers to two concurrent requests for a run. The later one may arrive after the first run has ended, and start
   * another.
   */
  async function askedAtOnce() {
    for (;;) {
      await runsEnd()
      const answers = await Promise.all([call<Run>('POST', RUNS, {}), call<Run>('POST', RUNS, {})])
      if (answers.some(({ status }) => status !== 202)) return answers
      await runsEnd()
      const { body } = await expectCall<{ items: Run[] }>(200, 'GET', `${RUNS}?limit=500`)
      const both = body.items.filter(({ id }) => answers.some((answer) => answer.body.id === id))
      const [later, earlier] = both.toSorted((one, other) => other.startedAt.localeCompare(one.startedAt))
      expect(earlier?.finishedAt, JSON.stringify(both)).to.be.a('string')
      expect(Date.parse(earlier?.finishedAt ?? '')).to.be.at.most(Date.parse(later?.startedAt ?? '') + 1000)
    }
  }

  it('starts one run at a time, and returns 403 without the permission', async () => {
    const answers = await askedAtOnce()
    expect(answers.map(({ status }) => status).sort()).to.deep.equal([202, 409])
    const refused = answers.find(({ status }) => status === 409)?.body as unknown as { code: string; runId: string }
    expect(refused.code).to.equal('RETENTION_RUNNING')
    expect(refused.runId).to.match(/^[0-9a-f-]{36}$/)
    const reader = await makeCaller({ 'Platform Reader': '/' })
    await until(
      'the reader may read',
      async () => (await call('GET', RUNS, undefined, { token: reader.token })).status === 200,
    )
    expect((await call('POST', RUNS, {}, { token: reader.token })).status).to.equal(403)
    expect((await call('GET', RUNS, undefined, asOwner())).status).to.equal(403)
    const tenant = await clientWithToken(world.owner.token)
    try {
      const { apiVersion, kind, resource } = RetentionRun
      const metadata = { name: uniqueName('run'), namespace: SYSTEM_NAMESPACE }
      const made = await tenant
        .create(resource, { apiVersion, kind, metadata, spec: {} })
        .catch((error: Error) => error)
      expect(made).to.be.instanceOf(Error)
    } finally {
      await tenant.close()
    }
  })

  it('rejects runs and installs of kubectl whose startedBy is another principal', async () => {
    const keeper = await makeCaller({ 'Platform Contributor': '/' })
    const theirs = await clientWithToken(keeper.token)
    const made = ({ apiVersion, kind, resource }: AnyKind, spec: object, name = uniqueName('run')) => {
      const metadata = { name, namespace: SYSTEM_NAMESPACE }
      return theirs.create(resource, { apiVersion, kind, metadata, spec } as KubeObject).then(
        () => 'made',
        (error: KubeError) => `${error.reason}: ${error.denial?.message ?? error.message}`,
      )
    }
    const [own, startedBy] = [keeper.principalId, world.owner.principalId]
    try {
      const isMade = async () => (await made(RetentionRun, { dryRun: true, startedBy: own })) === 'made'
      await until('runs can be made', isMade)
      expect(await made(RetentionRun, { dryRun: true, startedBy })).to.match(/startedBy must be your own id/)
      const install = { component: 'none', kind: 'Install', startedBy }
      expect(await made(ComponentInstall, install)).to.match(/startedBy must be your own id/)
      expect(await made(RolloutExecution, { plan: 'none', startedBy })).to.match(/startedBy must be your own id/)
      const requests = { cancelAt: '2026-01-01T00:00:00Z', by: startedBy }
      expect(await made(RolloutExecution, { plan: 'none', requests })).to.match(/by must be your own id/)
      const suspendedArchives = [{ namespace: 'identity', name: 'users', suspendedBy: startedBy }]
      expect(await made(PlatformBackupSettings, { suspendedArchives }, SETTINGS_NAME)).to.match(/must be your own id/)
    } finally {
      await theirs.close()
    }
  })

  it('keeps pins of REST and kubectl under the same rules', async () => {
    const name = repository()
    const pin = { boundary: world.boundary, repository: name, digests: [`sha256:${'b'.repeat(64)}`], keepLast: 3 }
    const put = (change: object, options = asOwner()) =>
      call<{ missingDigests: string[]; keepLast: number; updatedBy: string; code: string }>(
        'PUT',
        PINS,
        { ...pin, expiresAt: '2030-01-01T00:00:00Z', ...change },
        options,
      )
    const made = await put({})
    expect([made.status, made.body.missingDigests, made.body.updatedBy]).to.deep.equal([
      ...[200, pin.digests],
      world.owner.principalId,
    ])
    expect((await put({ keepLast: 5 })).body.keepLast).to.equal(5)
    expect((await put({ expiresAt: '2020-01-01T00:00:00Z' })).status).to.equal(400)
    expect((await put({ digests: ['sha256:short'] })).status).to.equal(400)
    const other = (await makeBoundary()).id
    const foreign = repository('web', { ...world, boundary: other })
    expect((await put({ repository: foreign })).status).to.equal(400)
    const reader = await makeCaller({ Reader: `/boundaries/${world.boundary}` })
    expect((await put({}, { token: reader.token })).status).to.equal(403)
    const [writing, reading] = [await clientWithToken(world.owner.token), await clientWithToken(reader.token)]
    const namespace = boundaryNamespace(world.boundary)
    const object = (change: object = {}) => ({
      apiVersion: RegistryPin.apiVersion,
      kind: RegistryPin.kind,
      metadata: { name: uniqueName('pin'), namespace },
      spec: { repository: name, expiresAt: '2030-01-01T00:00:00Z', ...change },
    })
    const failure = (by: KubeClient, change: object = {}) =>
      by.create(RegistryPin.resource, object(change)).then(
        () => 'made',
        (error: KubeError) => `${error.reason}: ${error.message} ${error.denial?.message ?? ''}`,
      )
    try {
      expect(await failure(writing)).to.equal('made')
      expect(await failure(reading)).to.match(/^Forbidden/)
      expect(await failure(writing, { repository: foreign })).to.match(/namespace of the boundary/)
      expect(await failure(writing, { repository: 'short/name' })).not.to.equal('made')
    } finally {
      await writing.close()
      await reading.close()
    }
    const listed = `${PINS}?boundary=${world.boundary}&repository=${name}`
    const answered = await expectCall<PagedListResponse<{ keepLast: number | null }>>(
      200,
      'GET',
      listed,
      undefined,
      asOwner(),
    )
    expect(answered.body.items.map(({ keepLast }) => keepLast)).to.have.members([5, null])
    expect((await call('GET', listed, undefined, { token: reader.token })).status).to.equal(403)
    await expectCall(204, 'DELETE', `${PINS}?boundary=${world.boundary}&repository=${name}`, undefined, asOwner())
    await expectCall(204, 'DELETE', `${PINS}?boundary=${world.boundary}&repository=${name}`, undefined, asOwner())
    const { items } = await admin.list(RegistryPin.resource, { namespace })
    expect((items as unknown as RegistryPin[]).filter(({ spec }) => spec.repository === name)).to.deep.equal([])
  })
})
