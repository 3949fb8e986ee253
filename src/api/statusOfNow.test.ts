import { expect } from 'chai'
import { startWithOneOfEachKind } from '../../test/worlds/oneOfEachKind.ts'
import { KINDS } from '../crds/index.ts'
import { SERVED_ROUTES } from './index.ts'

const READS = SERVED_ROUTES.filter(({ method }) => method === 'GET')
const LISTS = READS.filter(({ list }) => list?.fields.status !== undefined)
const AT_REST = ['Running', 'Ready']
const THEN = '2026-01-01T00:00:00Z'

type Server = Awaited<ReturnType<typeof startWithOneOfEachKind>>
type Record = { status: string; statusMessage?: string; phase?: string }

/** Makes every object ready at generation 1, and then sets the generation. */
function changeAll({ client, caches }: Server, generation: number): void {
  const ready = { type: 'Ready', status: 'True', reason: 'Available', message: '', lastTransitionTime: THEN }
  const conditions = [{ ...ready, observedGeneration: 1 }]
  for (const { resource, status } of KINDS.filter(({ status }) => Object.hasOwn(status.shape, 'conditions')))
    for (const object of [...client.stored(resource)])
      caches.get(resource).observeWrite(
        client.seed(resource, {
          ...object,
          metadata: { ...object.metadata, generation },
          status: {
            ...{ observedGeneration: 1, conditions, status: 'Running', phase: 'Available' },
            ...(Object.hasOwn(status.shape, 'firstReadyAt') && { firstReadyAt: THEN, serving: true }),
          },
        } as typeof object),
      )
}

describe('status of a change that no controller has observed', () => {
  let server: Server
  beforeEach(async () => {
    server = await startWithOneOfEachKind()
  })
  afterEach(() => server.stop())

  const recordAt = async (path: string): Promise<Record | undefined> => {
    const { status, body } = await server.ask('get', server.pathOf(path))
    return status === 200 ? body : undefined
  }
  const statusesIn = async (path: string, status: string) => {
    const { body } = await server.ask('get', `${server.pathOf(path)}?filter=status:eq:${status}`)
    return (body.items as { status: string }[]).map((item) => item.status)
  }

  it('is shown in each record', async () => {
    const singles = READS.filter(({ path }) => path.endsWith('}')).map(({ path }) => path)
    const paths: string[] = []
    changeAll(server, 1)
    for (const path of singles) if (AT_REST.includes((await recordAt(path))?.status ?? '')) paths.push(path)
    expect(paths.length).to.be.greaterThan(11)
    changeAll(server, 2)
    for (const path of paths) {
      const { status, phase, statusMessage } = (await recordAt(path)) as Record
      expect(status, path).to.be.oneOf(['Updating', 'Provisioning', 'Pending'])
      if (phase !== undefined) expect({ phase, statusMessage }, path).to.include({ phase: 'Accepted' })
    }
  })

  it('is shown in each list and found by its filter', async () => {
    const lists: (readonly [path: string, status: string])[] = []
    changeAll(server, 1)
    for (const { path } of LISTS)
      for (const status of AT_REST)
        if ((await server.ask('get', server.pathOf(path))).body.items?.some((item: Record) => item.status === status))
          lists.push([path, status])
    expect(lists.length).to.be.greaterThan(15)
    changeAll(server, 2)
    for (const [path, before] of lists) {
      const { body } = await server.ask('get', server.pathOf(path))
      const shown = (body.items as Record[]).map(({ status }) => status)
      expect(shown, path).not.to.include(before)
      for (const status of new Set(shown))
        expect(await statusesIn(path, status), `${path} ${status}`).to.deep.equal(
          shown.filter((each) => each === status),
        )
      expect(await statusesIn(path, before), `${path} ${before}`).to.deep.equal([])
    }
  })
})
