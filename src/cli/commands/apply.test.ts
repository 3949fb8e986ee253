import { writeFile } from 'node:fs/promises'
import type { RequestListener } from 'node:http'
import { join } from 'node:path'
import { json } from 'node:stream/consumers'
import { expect } from 'chai'
import { CommandsAtServer } from '../../../test/worlds/commandsAtServer.ts'
import { Router } from '../../api/http/router.ts'
import { SERVED_ROUTES } from '../../api/index.ts'
import { refusalSentence } from '../../core/errors.ts'
import { groupNamespace } from '../../core/names.ts'

const BOUNDARY = '5d0f8a52-3c1e-4b7a-9f60-2e8c41d7b391'
const vector = (name: string, replicas = 1) =>
  `{apiVersion: data.freehold.dev/v1alpha1, kind: VectorCluster, metadata: {name: ${name}}, spec: {replicas: ${replicas}}}`
const BOUNDARY_WITH_QUOTA = `{apiVersion: freehold.dev/v1alpha1, kind: Boundary, metadata: {name: ${BOUNDARY}}, spec: {displayName: Shop, quota: {cpu: '4'}}}`
const GROUP = '{apiVersion: freehold.dev/v1alpha1, kind: ResourceGroup, metadata: {name: store}}'
const FUNCTION =
  '{apiVersion: compute.freehold.dev/v1alpha1, kind: ServerlessFunction, metadata: {name: hook}, spec: {}}'
const CONFIG = '{apiVersion: v1, kind: ConfigMap, metadata: {name: settings}, data: {a: b}}'

/** REST and the API server at one address: both know the written objects, and the API server has rules. */
class Platform {
  readonly versions = new Map<string, number>()
  readonly writes: string[] = []
  isUnchanging = true
  /** A name that REST rejects when it is written. */
  refused: string | undefined
  /** A name that REST does not find at first, as in a group that it does not know yet: how often. */
  readonly unseen = new Map<string, number>()
  /** The error of REST about a field that it rejects. */
  strangeField: string | undefined

  readonly listener: RequestListener = async (request, response) => {
    const { url = '', method = '' } = request
    const answer = (status: number, body: object, headers: Record<string, string> = {}) =>
      response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body))
    const name = /\/([\w-]+)(\?.*)?$/.exec(url)?.[1] ?? ''
    if (/\/apis\/[^/]+\/v1alpha1$/.test(url) || url === '/api/v1') return answer(200, { resources: RESOURCES })
    if (url.startsWith('/api')) return this.atKubernetes({ url, method, name }, (await bodyOf(request)) ?? {}, answer)
    const version = this.versions.get(name)
    const etag = (value: number) => ({ etag: `"${value}"` })
    if (method === 'GET') return version === undefined ? answer(404, {}) : answer(200, { name }, etag(version))
    if (this.strangeField !== undefined) return answer(400, { code: 'MODEL_BINDING_FAILED', error: this.strangeField })
    if (method !== 'POST' && version === undefined) return answer(404, {})
    if (name === this.refused) return answer(422, { code: 'PLAN_NOT_FOUND', error: 'There is no such plan.' })
    const misses = this.unseen.get(name) ?? 0
    if (misses > 0) {
      this.unseen.set(name, misses - 1)
      return answer(404, { code: 'NOT_FOUND', error: 'The group was not found.' })
    }
    this.writes.push(`${method} ${name}`)
    const next = (version ?? 0) + (this.isUnchanging && version !== undefined ? 0 : 1)
    this.versions.set(name, next)
    answer(method === 'POST' ? 201 : 200, { name }, etag(next))
  }

  atKubernetes(
    { url, method, name }: { url: string; method: string; name: string },
    object: { spec?: { replicas?: number } },
    answer: (status: number, body: object) => void,
  ) {
    if (method === 'GET') return answer(this.versions.has(name) ? 200 : 404, {})
    // Server-side apply keeps a field that excludes two replicas; a replacement removes it.
    if (method === 'PATCH' && object.spec?.replicas === 2)
      return answer(422, { message: `VectorCluster "${name}" is invalid: spec: Invalid value: not both` })
    if ((object.spec?.replicas ?? 0) > 100)
      return answer(422, { message: `VectorCluster "${name}" is invalid: spec.replicas: Invalid value: 1000` })
    if (!url.includes('dryRun')) this.writes.push(url.split('?')[0] ?? '')
    answer(201, object)
  }
}

const RESOURCES = [
  { name: 'boundaries', kind: 'Boundary', namespaced: false },
  { name: 'vectorclusters', kind: 'VectorCluster', namespaced: true },
  { name: 'serverlessfunctions', kind: 'ServerlessFunction', namespaced: true },
  { name: 'configmaps', kind: 'ConfigMap', namespaced: true },
]
const bodyOf = (request: Parameters<typeof json>[0]) =>
  json(request).catch(() => undefined) as Promise<object | undefined>

describe('freehold apply', () => {
  let platform: Platform
  let commands: CommandsAtServer

  beforeEach(async () => {
    platform = new Platform()
    commands = await CommandsAtServer.start(platform.listener, { setup: (url) => ['--kubernetes-url', url] })
  })
  afterEach(() => commands.stop())

  async function run(command: 'apply' | 'diff', manifests: string[], ...more: string[]): Promise<number> {
    const file = join(commands.home, 'a.yaml')
    await writeFile(file, manifests.join('\n---\n'))
    return commands.freehold(command, '-f', file, '-b', BOUNDARY, '-g', 'shop', ...more)
  }

  it('reports whether an object is unchanged or configured, by its ETag', async () => {
    platform.versions.set('one', 1)
    expect(await run('apply', [vector('one')]), commands.said).to.equal(0)
    expect(commands.said).to.equal('VectorCluster "one" unchanged\n')
    platform.isUnchanging = false
    expect(await run('apply', [vector('one')]), commands.said).to.equal(0)
    expect(commands.said).to.equal('VectorCluster "one" configured\n')
  })

  for (const [what, manifests] of [
    ['alone', [vector('large', 1000)]],
    ['before another new object', [vector('large', 1000), vector('one')]],
    ['after another new object', [vector('one'), vector('large', 1000)]],
  ] as const) {
    it(`rejects an object that breaks a rule of its kind, as diff does: ${what}`, async () => {
      expect(await run('diff', [...manifests]), commands.said).to.equal(2)
      expect(commands.said).to.include('spec.replicas: Invalid value: 1000')
      expect(await run('apply', [...manifests]), commands.said).to.be.oneOf([1, 2])
      expect(commands.said).to.include('spec.replicas: Invalid value: 1000').and.include('Nothing was applied.')
      expect(platform.writes).to.deep.equal([])
    })
  }

  it('rejects a change that breaks a rule of its kind, as diff does', async () => {
    platform.versions.set('large', 1)
    for (const command of ['apply', 'diff'] as const) {
      expect(await run(command, [vector('large', 1000), vector('one')]), commands.said).to.be.oneOf([1, 2])
      expect(commands.said).to.include('Invalid value: 1000')
    }
    expect(platform.writes).to.deep.equal([])
  })

  it('accepts a replacement that is valid although a server-side apply is not, as diff does', async () => {
    platform.versions.set('one', 1)
    expect(await run('apply', [vector('one', 2)]), commands.said).to.equal(0)
    await run('diff', [vector('one', 2)])
    expect(commands.said).not.to.include('not both')
  })

  it('rejects an invalid name with the same message as diff', async () => {
    const said: string[] = []
    for (const command of ['apply', 'diff'] as const) {
      expect(await run(command, [vector('DD_6')])).to.equal(2)
      said.push(commands.said)
    }
    expect(said[0]).to.include('"DD_6" is not a valid name').and.to.equal(said[1])
  })

  it('says that earlier objects were applied only if there were any', async () => {
    platform.refused = 'second'
    expect(await run('apply', [vector('second')])).to.be.oneOf([1, 2])
    expect(commands.said).to.include('There is no such plan').and.not.to.include('What came before')
    expect(await run('apply', [vector('first'), vector('second')])).to.be.oneOf([1, 2])
    expect(commands.said).to.include('There is no such plan').and.to.include('What came before it was applied.')
  })

  it('waits for a group that it has just created', async () => {
    platform.unseen.set('one', 2)
    expect(await run('apply', [GROUP, vector('one')]), commands.said).to.equal(0)
    expect(platform.writes).to.deep.equal(['POST store', 'POST one'])
  })

  it('waits for no other group', async () => {
    platform.versions.set('store', 1)
    platform.unseen.set('one', 2)
    expect(await run('apply', [GROUP, vector('one')])).to.equal(1)
    expect(commands.said).to.include('ResourceGroup "store" unchanged').and.to.include('The group was not found')
    expect(platform.unseen.get('one')).to.equal(1)
  })

  it('applies an object of another kind to the namespace of the given group', async () => {
    expect(await run('apply', [CONFIG]), commands.said).to.equal(0)
    expect(platform.writes).to.deep.equal([
      `/api/v1/namespaces/${groupNamespace(BOUNDARY, 'shop')}/configmaps/settings`,
    ])
  })

  it('writes to the API server if another route of REST changes a field', async () => {
    const message = new Router(SERVED_ROUTES).replacing(['boundaries', BOUNDARY], 'quota') ?? ''
    platform.strangeField = refusalSentence({ field: 'quota', message })
    expect(await run('apply', [BOUNDARY_WITH_QUOTA]), commands.said).to.equal(0)
    expect(commands.said).to.include('(with Kubernetes)')
    expect(platform.writes).to.deep.equal([`/apis/freehold.dev/v1alpha1/boundaries/${BOUNDARY}`])
  })

  it('writes nothing to the API server if REST rejects a value', async () => {
    platform.strangeField = refusalSentence({ field: 'displayName', message: 'must be a text' })
    expect(await run('apply', [BOUNDARY_WITH_QUOTA])).to.equal(2)
    expect(platform.writes).to.deep.equal([])
  })

  it('names the objects that --wait does not wait for', async () => {
    expect(await run('apply', [FUNCTION, CONFIG], '--wait'), commands.said).to.equal(0)
    expect(commands.said).to.match(
      /ServerlessFunction "hook" is not waited for; use `kubectl wait .*serverlessfunction\/hook -n shop-/,
    )
    expect(commands.said).not.to.include('"settings" is not waited for')
  })
})
