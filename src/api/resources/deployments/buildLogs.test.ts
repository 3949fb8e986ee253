import { randomUUID } from 'node:crypto'
import { expect } from 'chai'
import { BOUNDARY as B, startShop } from '../../../../test/worlds/shop.ts'
import { fakeBlobs } from '../../../adapters/blobs/fake.ts'
import { blobBuildLogs } from '../../../adapters/buildlogs/client.ts'
import { BUILD_LOG_LINES_MAX } from '../../../contracts/deployments.ts'
import { groupNamespace } from '../../../core/names.ts'
import { PlatformApp } from '../../../crds/apps.ts'
import { DeploymentRecord } from '../../../crds/deployments.ts'
import { SERVED_ROUTES } from '../../index.ts'

const ID = '33333333-3333-4333-8333-333333333333'
const PATH = `/boundaries/${B}/resourcegroups/shop/resources/apps/web/deployments/${ID}`

describe('build logs of a deployment', () => {
  let server: Awaited<ReturnType<typeof startShop>>
  let logs: ReturnType<typeof blobBuildLogs>
  beforeEach(async () => {
    logs = blobBuildLogs(fakeBlobs())
    server = await startShop({}, { deployments: { logs, archives: undefined, podOf: () => undefined } })
    const namespace = groupNamespace(B, 'shop')
    server.put(PlatformApp, 'web', { sourceKind: 'Image', image: 'docker.io/library/hello-world' }, namespace)
    const spec = { ownerCollection: 'apps', ownerName: 'web', strategy: 'Reported', phase: 'Building' }
    server.put(DeploymentRecord, ID, { ...spec, timestamp: '2026-01-02T03:04:05Z' }, namespace)
  })
  afterEach(() => server.stop())

  const add = (body: object) => server.ask('post', `${PATH}/logs`).send(body)
  const read = (offset: number, accept: string) =>
    server.ask('get', `${PATH}/build-logs`).query({ offset }).set({ accept })

  it('reject more than BUILD_LOG_LINES_MAX lines, as text and as lines', async () => {
    for (const body of [
      { text: '\n'.repeat(1_000_000) },
      { lines: Array(BUILD_LOG_LINES_MAX + 1).fill('') },
      { lines: ['\n'.repeat(BUILD_LOG_LINES_MAX)] },
    ]) {
      const { status, body: problem } = await add(body)
      expect([status, problem.code, problem.limitLines]).to.deep.equal([400, 'BODY_TOO_LARGE', BUILD_LOG_LINES_MAX])
    }
  })

  it('name only the first line that is not a string', async () => {
    const { status, body: problem } = await add({ lines: ['all is well', ...Array(50_000).fill(null)] })
    expect([status, problem.code, problem.errors]).to.deep.equal([
      400,
      'MODEL_BINDING_FAILED',
      [{ field: 'lines.1', message: 'must be a string' }],
    ])
    expect((await add({ lines: 'all is well' })).body.errors).to.deep.equal([
      { field: 'lines', message: 'must be an array' },
    ])
  })

  it('accept no lines for a build of the platform', async () => {
    const spec = { ownerCollection: 'apps', ownerName: 'web', strategy: 'Build' }
    const id = randomUUID()
    server.put(DeploymentRecord, id, spec, groupNamespace(B, 'shop'))
    const { status, body } = await server
      .ask('post', `${PATH.replace(ID, id)}/logs`)
      .send({ lines: ['all is well'], isFinal: true })
    expect([status, body.code]).to.deep.equal([409, 'INVALID_STATE'])
  })

  it('accept no more lines of a complete log, and say how far its deployment is', async () => {
    await add({ lines: ['a'], isFinal: true })
    const { status, body } = await add({ lines: ['b'] })
    expect([status, body.code, body.status, body.phase]).to.deep.equal([409, 'INVALID_STATE', 'Building', 'Building'])
  })

  it('support tail, offset, follow, process and previous, as text and as JSON', async () => {
    await add({ lines: ['a', 'b', 'c'], isFinal: true })
    const ask = (query: object, accept = 'text/plain') =>
      server.ask('get', `${PATH}/build-logs`).query(query).set({ accept })
    expect((await ask({ tail: 2, timestamps: true, sinceSeconds: 60, process: 'build' })).text).to.equal('b\nc\n')
    expect((await ask({ tail: 2, offset: 2 })).text).to.equal('c\n')
    expect((await ask({ tail: 2, follow: true })).text).to.equal('b\nc\n')
    const { body } = await ask({ tail: 1 }, 'application/json')
    expect(body.lines).to.deep.equal([{ timestamp: null, source: 'build', text: 'c' }])
    expect((await ask({ process: 'other' })).status).to.equal(400)
    expect((await ask({ previous: true })).status).to.equal(404)
  })

  it('share the query parameters of all other log routes', () => {
    const logs = SERVED_ROUTES.filter(({ method, path }) => method === 'GET' && /(?<!audit)[/-]logs$/.test(path))
    expect(logs).to.have.length.above(5)
    const wanted = ['tail', 'sinceSeconds', 'timestamps', 'follow', 'previous', 'process']
    for (const { path, query } of logs) expect(Object.keys(query?.shape ?? {}), path).to.include.members(wanted)
  })

  it('return JSON in pages of 10,000 lines, and text as a whole', async () => {
    const all = Array.from({ length: 25_000 }, (_, index) => `line ${index}`)
    expect((await add({ text: `${all.join('\n')}\n`, isFinal: true })).status).to.equal(200)
    const got: string[] = []
    const pages: unknown[] = []
    for (let page = 0; page < 3; page += 1) {
      const { body } = await read(got.length, 'application/json')
      got.push(...body.lines.map(({ text }: { text: string }) => text))
      pages.push([body.lines.length, body.truncated, body.isFinal])
    }
    expect(pages).to.deep.equal([
      [10_000, true, false],
      [10_000, true, false],
      [5_000, false, true],
    ])
    expect(got).to.deep.equal(all)
    expect((await read(1, 'text/plain')).text).to.equal(`${all.slice(1).join('\n')}\n`)
  })

  it('drop the oldest log of the resource when there is no room, finished or not', async () => {
    const ids = [ID, ...Array.from({ length: 4 }, () => randomUUID())]
    const spec = { ownerCollection: 'apps', ownerName: 'web', strategy: 'Reported', phase: 'Building' }
    const namespace = groupNamespace(B, 'shop')
    for (const id of ids.slice(1))
      server.put(DeploymentRecord, id, { ...spec, timestamp: '2026-01-02T03:04:05Z' }, namespace)
    const lines: string[] = Array(7 * 1024).fill('x'.repeat(1023))
    for (const name of ids.slice(0, 4)) {
      const { uid = '' } = (await server.client.get(DeploymentRecord.resource, { namespace, name })).metadata
      const { apiVersion, kind } = DeploymentRecord
      await logs.append({ apiVersion, kind, namespace, name, uid }, lines, { isFinal: false })
    }
    const path = (id: string) => PATH.replace(ID, id)
    const { status, body } = await server.ask('post', `${path(ids[4] ?? '')}/logs`).send({ text: lines.join('\n') })
    expect(status, JSON.stringify(body)).to.equal(200)
    const kept = await Promise.all(
      ids.map(async (id) => {
        const answer = await server.ask('get', `${path(id)}/build-logs`).set({ accept: 'application/json' })
        return answer.body.lines.length > 0
      }),
    )
    expect(kept.filter((one) => one)).to.have.length(4)
    expect(kept.at(-1)).to.equal(true)
  })

  it('share the room of the boundary, so that many resources cannot hold more than 256 MiB', async () => {
    const namespace = groupNamespace(B, 'shop')
    const spec = { ownerCollection: 'apps', strategy: 'Reported', phase: 'Building', timestamp: '2026-01-02T03:04:05Z' }
    for (let at = 0; at < 511; at += 1)
      server.put(DeploymentRecord, randomUUID(), { ...spec, ownerName: `app-${at}` }, namespace)
    const share = (256 * 1024 ** 2) / 512
    const lines = (bytes: number) => ({ lines: Array(bytes / 1024).fill('x'.repeat(1023)) })
    expect((await add(lines(share))).status).to.equal(200)
    const { status, body } = await add(lines(1024))
    expect([status, body.code, body.limitBytes]).to.deep.equal([400, 'BODY_TOO_LARGE', share])
  })
})
