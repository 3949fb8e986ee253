import { once } from 'node:events'
import { request } from 'node:http'
import { json } from 'node:stream/consumers'
import { expect } from 'chai'
import { bearer, startFacade } from '../../../test/worlds/facadeServer.ts'
import { systemClock } from '../../core/clock.ts'
import { boundaryNamespace, groupNamespace } from '../../core/names.ts'
import { PlatformApp } from '../../crds/apps.ts'
import { DenyAssignment } from '../../crds/rbac.ts'
import type { Services } from './context.ts'

const B = '11111111-1111-4111-8111-111111111111'
const BERT = '20000000-0000-4000-8000-000000000000'
const GROUP = `/boundaries/${B}/resourcegroups/shop/resources`

const CREATION = { method: 'POST', path: `${GROUP}/vectorclusters/index`, type: 'application/json' }
type Answered = { status: number | undefined; code: unknown }

/** A registry client that replaces the error of a failed body by its own. */
const deployments = {
  archives: {
    async keep(_: string, bytes: AsyncIterable<unknown>) {
      try {
        for await (const _piece of bytes);
      } catch (cause) {
        throw new Error('The registry hung up.', { cause })
      }
    },
  },
} as unknown as Services['deployments']

describe('a body that takes 10 s to arrive', () => {
  let server: Awaited<ReturnType<typeof startFacade>>
  let passed = 0
  const clock = { ...systemClock, monotonic: () => performance.now() + passed }

  beforeEach(async () => {
    passed = 0
    server = await startFacade({}, { clock, deployments })
    server.boundary(B)
    server.group(B, 'shop')
    server.grant(BERT, 'Owner', `/boundaries/${B}`)
  })
  afterEach(() => server.stop())

  /** Sends half a body, calls `between` while the rest is awaited, and sends the rest. */
  async function sendAround(between: () => void, { method, path, type } = CREATION): Promise<Answered> {
    const { port } = await server.facade.listen(0, '127.0.0.1')
    const headers = { authorization: bearer(BERT), 'content-type': type, expect: '100-continue', 'content-length': '2' }
    const sent = request({ host: '127.0.0.1', port, method, path, headers })
    sent.flushHeaders()
    await once(sent, 'continue')
    sent.write('{')
    between()
    sent.end('}')
    const [answer] = await once(sent, 'response')
    return { status: answer.statusCode, code: ((await json(answer)) as { code?: unknown }).code }
  }
  const deny = (actions: string) =>
    void server.put(
      DenyAssignment,
      '33333333-3333-4333-8333-333333333333',
      {
        principalId: BERT,
        principalType: 'User',
        actions: [actions],
        scope: `/boundaries/${B}`,
        scopeIncarnation: 'life',
      },
      boundaryNamespace(B),
    )

  it('is accepted while the caller has the permission', async () => {
    expect(await sendAround(() => (passed = 10_000))).to.deep.include({ status: 201 })
  })

  it('is refused with 403, not the error of its consumer, if it is streamed and the permission ended', async () => {
    const path = `${GROUP}/apps/site/source`
    server.put(PlatformApp, 'site', { sourceKind: 'Upload' }, groupNamespace(B, 'shop'))
    const answer = await sendAround(
      () => {
        deny('apps/*')
        passed = 10_000
      },
      { method: 'PUT', path, type: 'application/gzip' },
    )
    expect(answer).to.deep.equal({ status: 403, code: 'FORBIDDEN' })
  })

  it('is refused with 403 if the permission was denied meanwhile', async () => {
    const answer = await sendAround(() => {
      deny('vectorcluster/*')
      passed = 10_000
    })
    expect(answer).to.deep.equal({ status: 403, code: 'FORBIDDEN' })
  })
})
