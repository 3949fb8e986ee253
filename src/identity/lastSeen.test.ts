import { expect } from 'chai'
import { ManualClock, settle } from '../../test/make/clock.ts'
import { silentLog } from '../core/log.ts'
import type { KubeObject } from '../kube/object.ts'
import { createLastSeen } from './lastSeen.ts'

const ANNA = '33333333-3333-4333-8333-333333333333'
const ROBOT = '44444444-4444-4444-8444-444444444444'
const HOUR = 3_600_000

describe('createLastSeen', () => {
  const prepare = (stored: Record<string, object> = {}) => {
    const clock = new ManualClock()
    const writes: { name: string; status: unknown; subresource: string | undefined; uid: string | undefined }[] = []
    const state = { fails: false }
    const seen = createLastSeen({
      client: {
        mergePatch: async (_resource, { name }, patch, options) => {
          if (state.fails) throw new Error('no answer')
          writes.push({
            name,
            status: (patch as { status: unknown }).status,
            subresource: options?.subresource,
            uid: options?.uid,
          })
          return {} as KubeObject as never
        },
      },
      find: (_kind, name) =>
        ({
          apiVersion: 'v1',
          kind: 'Principal',
          metadata: { name, uid: `uid of ${name}` },
          status: stored[name],
        }) as KubeObject,
      clock,
      log: silentLog,
    })
    return { clock, writes, seen, state }
  }

  it('writes the status at most once an hour for each principal', async () => {
    const { clock, writes, seen } = prepare()
    for (let count = 0; count < 100; count += 1) seen.gotToken(ROBOT)
    seen.signedIn(ANNA)
    await clock.advance(HOUR - 1)
    seen.gotToken(ROBOT)
    expect(writes).to.deep.equal([
      { name: ROBOT, uid: `uid of ${ROBOT}`, status: { lastTokenAt: '2026-01-01T00:00:00Z' }, subresource: 'status' },
      { name: ANNA, uid: `uid of ${ANNA}`, status: { lastSignInAt: '2026-01-01T00:00:00Z' }, subresource: 'status' },
    ])
    await clock.advance(1)
    seen.gotToken(ROBOT)
    expect(writes).to.have.length(3)
  })

  it('does not write if another replica did within the hour', async () => {
    const { clock, writes, seen } = prepare({ [ROBOT]: { lastTokenAt: '2025-12-31T23:30:00Z' } })
    seen.gotToken(ROBOT)
    expect(writes).to.deep.equal([])
    await clock.advance(HOUR / 2)
    seen.gotToken(ROBOT)
    expect(writes).to.have.length(1)
  })

  it('retries after a failed write, and ignores ids that are not UUIDs', async () => {
    const { writes, seen, state } = prepare()
    state.fails = true
    seen.gotToken(ROBOT)
    await settle()
    state.fails = false
    seen.gotToken(ROBOT)
    seen.gotToken('freehold-cli')
    expect(writes.map(({ name }) => name)).to.deep.equal([ROBOT])
  })
})
