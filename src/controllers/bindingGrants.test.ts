import { expect } from 'chai'
import { BINDING_PEOPLE_MAX, type IdpBinding } from '../crds/sso.ts'
import { type BindingGrants, type BindingPass, reconcileGrants } from './bindingGrants.ts'

type Status = NonNullable<IdpBinding['status']>
type Memory = Pick<Status, 'memberIds' | 'changingIds' | 'leftIds'>

/** One pass: its outcome, the status after it, and who was granted a share. */
async function settle(
  before: Memory,
  matched: string[],
  share: Partial<BindingGrants> & { holders: ReadonlySet<string> },
) {
  let status: Memory = before
  let given: readonly string[] | undefined
  const pass = {
    object: { status: before },
    report: (news: Memory) => {
      status = { ...status, ...news }
    },
  } as unknown as BindingPass
  const outcome = await reconcileGrants(pass, matched, {
    readHolders: async () => share.holders,
    isExclusive: true,
    setHolders: async (people) => {
      given = people
    },
    ...share,
  })
  return { kind: outcome.kind, status, given }
}

describe('reconcileGrants', () => {
  const heldBy = (...ids: string[]) => ({ holders: new Set(ids) })

  it('records a change in the status before it grants and before it revokes', async () => {
    const first = await settle({ memberIds: ['old'] }, ['new'], heldBy('old'))
    expect(first.given).to.equal(undefined)
    expect(first.status).to.deep.include({ memberIds: [], changingIds: ['new', 'old'] })
    const second = await settle(first.status, ['new'], heldBy('old'))
    expect(second.given).to.deep.equal(['new'])
    expect(second.status).to.deep.include({ memberIds: ['new'], changingIds: [] })
  })

  it('records a member as left only if the API server confirms it', async () => {
    const late = { ...heldBy(), readHolders: async () => new Set(['ada']) }
    expect((await settle({ memberIds: ['ada'] }, ['ada'], late)).status.leftIds).to.deep.equal([])
    expect((await settle({ memberIds: ['ada'] }, ['ada'], heldBy())).status.leftIds).to.deep.equal(['ada'])
  })

  it('leaves a share that somebody else granted untouched', async () => {
    const { given, status } = await settle({}, ['ada'], { ...heldBy('ada'), isExclusive: false })
    expect([given, status.memberIds]).to.deep.equal([[], []])
  })

  it('stops recording who left when more people match than BINDING_PEOPLE_MAX', async () => {
    const many = Array.from({ length: BINDING_PEOPLE_MAX + 1 }, (_, number) => `p${number}`)
    const crowd = await settle({ memberIds: ['p0'], leftIds: ['p1'] }, many, heldBy())
    expect(crowd.given).to.have.length(many.length)
    const few = await settle(crowd.status, ['p0', 'p1'], heldBy())
    expect(few.status.leftIds).to.deep.equal([])
  })
})
