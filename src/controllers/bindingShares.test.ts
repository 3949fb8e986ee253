import { expect } from 'chai'
import { type IdpBinding, PEOPLE_OF_BINDING } from '../crds/sso.ts'
import { type BindingPass, type Share, settleShare } from './bindingShares.ts'

type Status = NonNullable<IdpBinding['status']>
type Memory = Pick<Status, 'memberIds' | 'changingIds' | 'leftIds'>

/** One pass: what it answers, what the status says then, and who was given their share. */
async function settle(before: Memory, matched: string[], share: Partial<Share> & { has: ReadonlySet<string> }) {
  let status: Memory = before
  let given: readonly string[] | undefined
  const pass = {
    object: { status: before },
    report: (news: Memory) => {
      status = { ...status, ...news }
    },
  } as unknown as BindingPass
  const outcome = await settleShare(pass, matched, {
    hasNow: async () => share.has,
    isAllOurs: true,
    give: async (people) => {
      given = people
    },
    ...share,
  })
  return { kind: outcome.kind, status, given }
}

describe('who has something from a binding', () => {
  const has = (...ids: string[]) => ({ has: new Set(ids) })

  it('is written down before it is given, and before it is taken', async () => {
    const first = await settle({ memberIds: ['old'] }, ['new'], has('old'))
    expect(first.given).to.equal(undefined)
    expect(first.status).to.deep.include({ memberIds: [], changingIds: ['new', 'old'] })
    const second = await settle(first.status, ['new'], has('old'))
    expect(second.given).to.deep.equal(['new'])
    expect(second.status).to.deep.include({ memberIds: ['new'], changingIds: [] })
  })

  it('has left only where the API server says so too', async () => {
    const late = { ...has(), hasNow: async () => new Set(['ada']) }
    expect((await settle({ memberIds: ['ada'] }, ['ada'], late)).status.leftIds).to.deep.equal([])
    expect((await settle({ memberIds: ['ada'] }, ['ada'], has())).status.leftIds).to.deep.equal(['ada'])
  })

  it('keeps what somebody else gave them', async () => {
    const { given, status } = await settle({}, ['ada'], { ...has('ada'), isAllOurs: false })
    expect([given, status.memberIds]).to.deep.equal([[], []])
  })

  it('is not remembered of too many, of whom nobody then has left', async () => {
    const many = Array.from({ length: PEOPLE_OF_BINDING + 1 }, (_, number) => `p${number}`)
    const crowd = await settle({ memberIds: ['p0'], leftIds: ['p1'] }, many, has())
    expect(crowd.given).to.have.length(many.length)
    const few = await settle(crowd.status, ['p0', 'p1'], has())
    expect(few.status.leftIds).to.deep.equal([])
  })
})
