import { expect } from 'chai'
import { parseSourceEvent } from './events.ts'
import { DELIVERY_KEYS_KEPT, type DeliveryJournal, HEADS_KEPT, withDelivery } from './journal.ts'
import type { Provider } from './providers.ts'
import { deliveryKeys } from './signatures.ts'

const [ONE, TWO] = ['a'.repeat(40), 'b'.repeat(40)]
const gitHubPush = { ref: 'refs/heads/main', after: ONE, repository: { id: 7, full_name: 'acme/site' } }

describe('withDelivery', () => {
  const claim = { proof: '', event: 'push', deliveryId: 'one' }
  const push = (commit: string, ref = 'refs/heads/main') =>
    parseSourceEvent('GitHub', 'push', { ...gitHubPush, after: commit, ref }) ?? { kind: 'Ping' as const }
  const delivery = (id: string, keys: string[], commit = ONE, ref?: string) => ({
    id,
    keys,
    event: push(commit, ref),
    at: '2026-01-01T00:00:00Z',
  })

  it('returns undefined for a repeated delivery, even with another id', () => {
    const body = Buffer.from('{}')
    const first = withDelivery({}, delivery('one', deliveryKeys(claim, body)))
    if (first === undefined) throw new Error('not recorded')
    const again = deliveryKeys({ ...claim, deliveryId: 'two' }, body)
    expect(withDelivery(first, delivery('two', again))).to.equal(undefined)
    const other = deliveryKeys(claim, Buffer.from('{"a":1}'))
    expect(withDelivery(first, delivery('one', other))).to.equal(undefined)
    const next = deliveryKeys({ ...claim, deliveryId: 'two' }, Buffer.from('{"a":1}'))
    expect(withDelivery(first, delivery('two', next))?.deliveries).to.have.length(4)
  })

  it('recognises a repeat by its content alone if it has no id', () => {
    const keys = deliveryKeys({ ...claim, deliveryId: undefined }, Buffer.from('{}'))
    expect(keys).to.have.length(1)
    expect(deliveryKeys(claim, Buffer.from('{}'))).to.include.members(keys)
    for (const key of deliveryKeys(claim, Buffer.from('{}'))) expect(key).to.match(/^[cd][0-9a-f]{20}$/)
  })

  it('remembers when it came, and a short id', () => {
    const given = withDelivery({}, delivery('x'.repeat(200), ['a']))
    const at = '2026-01-01T00:00:00Z'
    expect(given).to.include({ lastEventAt: at })
    expect(given?.heads?.[0]).to.include({ deliveryId: 'x'.repeat(128), receivedAt: at })
  })

  it('keeps heads of other repositories, and of a pull request of the same name, apart', () => {
    const one = push(ONE, 'refs/heads/a')
    if (one.kind !== 'Heads') throw new Error('not read')
    let journal: DeliveryJournal = {}
    const others = [{}, { repositoryId: '8' }, { kind: 'PullRequest' as const }]
    for (const [at, other] of others.entries()) {
      const event = { kind: 'Heads' as const, heads: one.heads.map((head) => ({ ...head, ...other })) }
      journal = { ...journal, ...withDelivery(journal, { id: `${at}`, keys: [`${at}`], event, at: 'now' }) }
    }
    expect(journal.heads).to.have.length(3)
  })

  it('takes a push that moved nothing for one of which nothing is missing', () => {
    const event = parseSourceEvent('GitHub', 'push', { ...gitHubPush, before: ONE }) ?? { kind: 'Ping' as const }
    expect(withDelivery({}, { ...delivery('one', ['a']), event })?.heads?.[0]?.missing).to.equal(undefined)
  })

  it('keeps only the newest head of a ref', () => {
    const first = withDelivery({}, delivery('one', ['a']))
    const second = withDelivery(first ?? {}, delivery('two', ['b'], TWO))
    expect(second?.heads?.map(({ commit, deliveryId }) => [commit, deliveryId])).to.deep.equal([[TWO, 'two']])
  })

  describe('finds the newest of pushes that arrive out of order', () => {
    const commits = ['a', 'b', 'c', 'd'].map((digit) => digit.repeat(40))
    const move = (from: number, to: number) => ({ before: commits[from], after: commits[to] })
    const inOrder = [move(0, 1), move(1, 2), move(2, 3)]
    const standsAt = (moves: readonly object[], first: readonly object[]) => {
      let journal: DeliveryJournal = {}
      for (const [index, moved] of [...first, ...moves].entries()) {
        const event = parseSourceEvent('GitHub', 'push', { ...gitHubPush, ...moved })
        if (event === undefined) throw new Error('not read')
        const at = '2026-01-01T00:00:00Z'
        journal = { ...journal, ...withDelivery(journal, { id: String(index), keys: [String(index)], event, at }) }
      }
      return journal.heads?.[0]
    }
    const created = { before: '0'.repeat(40), after: commits[0] }
    const orders = inOrder.flatMap((one) =>
      inOrder
        .filter((other) => other !== one)
        .map((other) => [one, other, inOrder.find((last) => last !== one && last !== other) ?? one]),
    )
    for (const order of orders)
      it(order.map((moved) => inOrder.indexOf(moved) + 1).join(', '), () => {
        const head = standsAt(order, [created])
        expect([head?.commit, head?.missing]).to.deep.equal([commits[3], undefined])
      })

    it('without an earlier head', () => {
      for (const order of [inOrder.slice(0, 2), inOrder.slice(0, 2).reverse()])
        expect(standsAt(order, [])?.commit).to.equal(commits[2])
    })

    it('after a branch moved back or a push was missed', () => {
      expect(standsAt([move(0, 1), move(1, 0)], [created])?.commit).to.equal(commits[0])
      expect(standsAt([move(0, 1), move(1, 0), move(0, 1)], [created])?.commit).to.equal(commits[1])
      expect(standsAt([move(1, 2), move(2, 0), move(0, 1)], [created])?.commit).to.equal(commits[1])
      expect(standsAt([move(1, 2), move(3, 0)], [created])?.commit).to.equal(commits[0])
    })
  })

  it("reads the previous commit from each provider's event", () => {
    const changes = [
      {
        new: { type: 'branch', name: 'main', target: { hash: TWO } },
        old: { type: 'branch', name: 'main', target: { hash: ONE } },
      },
    ]
    const gitLab = {
      project: { id: 7, path_with_namespace: 'acme/site' },
      ref: 'refs/heads/main',
      before: ONE,
      after: TWO,
    }
    const bodies: [Provider, string, unknown][] = [
      ['GitHub', 'push', { ...gitHubPush, before: ONE, after: TWO }],
      ['GitLab', 'Push Hook', gitLab],
      ['Bitbucket', 'repo:push', { push: { changes }, repository: { uuid: '7', full_name: 'acme/site' } }],
    ]
    for (const [provider, event, body] of bodies) {
      const read = parseSourceEvent(provider, event, body)
      expect(read?.kind === 'Heads' && read.heads[0], provider).to.include({ before: ONE, commit: TWO })
    }
  })

  it('removes the head of a deleted branch', () => {
    const first = withDelivery({}, delivery('one', ['a'], ONE, 'refs/heads/next'))
    const second = withDelivery(first ?? {}, delivery('two', ['b']))
    const third = withDelivery({ ...first, ...second }, delivery('three', ['c'], '0'.repeat(40), 'refs/heads/next'))
    expect(third?.heads?.map(({ ref }) => ref)).to.deep.equal(['refs/heads/main'])
  })

  it('limits the number of heads and deliveries', () => {
    let journal: DeliveryJournal = {}
    for (let index = 0; index < 1_000; index += 1) {
      const next = delivery(String(index), [`d${index}`, `c${index}`], ONE, `refs/heads/b${index}`)
      journal = { ...journal, ...withDelivery(journal, next) }
    }
    expect(journal.heads).to.have.length(HEADS_KEPT)
    expect(journal.deliveries).to.have.length(DELIVERY_KEYS_KEPT)
    expect(journal.heads?.at(-1)?.ref).to.equal('refs/heads/b999')
  })

  it('records the removal of its own installation', () => {
    const removal = { id: 'x', keys: ['x'], event: { kind: 'Removed', installationId: '5' }, at: 'now' } as const
    expect(withDelivery({}, removal, '5')?.removedAt).to.equal('now')
    expect(withDelivery({}, removal, '6')?.removedAt).to.equal(undefined)
    const changed = { id: 'y', keys: ['y'], event: { kind: 'Changed', installationId: '5' }, at: 'now' } as const
    const other = { id: 'z', keys: ['z'], event: push(ONE), at: 'now' } as const
    expect(withDelivery({}, other, undefined)?.removedAt).to.equal(undefined)
    expect(withDelivery({ removedAt: 'then' }, changed, '5')).to.include({ removedAt: null, lastCheckedAt: null })
    expect(withDelivery({}, changed, '6')).to.not.have.any.keys('removedAt', 'lastCheckedAt')
  })
})
