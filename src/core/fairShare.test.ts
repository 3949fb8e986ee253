import { expect } from 'chai'
import { FairShare } from './fairShare.ts'

/** A thread whose clock advances only by work and whose event loop is run by the test. */
class Thread {
  now = 0
  readonly done: string[] = []
  readonly #rounds: (() => void)[] = []
  readonly share = new FairShare(
    () => this.now,
    (run) => this.#rounds.push(run),
  )

  async ask(key: string, milliseconds: number): Promise<void> {
    const turn = this.share.take(key)
    if (turn !== undefined) await turn
    this.now += milliseconds
    this.done.push(key)
  }

  /** @returns the keys of the work done in this round */
  async round(): Promise<string> {
    const before = this.done.length
    for (const run of this.#rounds.splice(0)) run()
    for (let turn = 0; turn < 10; turn += 1) await Promise.resolve()
    return this.done.slice(before).join('')
  }

  get isIdle(): boolean {
    return this.#rounds.length === 0
  }
}

describe('FairShare', () => {
  it('lets a caller with one request proceed at once, however many others wait', async () => {
    const thread = new Thread()
    for (let count = 0; count < 100; count += 1) void thread.ask('h', 5)
    void thread.ask('m', 1)
    expect(thread.done.join('')).to.equal('hm')
  })

  it('lets each caller with several requests do one long piece of work per round', async () => {
    const thread = new Thread()
    for (let count = 0; count < 4; count += 1) for (const key of ['a', 'b']) void thread.ask(key, 5)
    expect(thread.done.join('')).to.equal('ab')
    expect([await thread.round(), await thread.round(), await thread.round()]).to.deep.equal(['ab', 'ab', 'ab'])
  })

  it('lets a caller do several short pieces of work per round, in order', async () => {
    const thread = new Thread()
    const order: number[] = []
    for (let count = 0; count < 100; count += 1) void thread.ask('a', 0.1).then(() => order.push(count))
    expect(thread.done, 'before the first round ends').to.have.length(11)
    const rounds = []
    for (let count = 0; count < 20 && thread.done.length < 100; count += 1) rounds.push((await thread.round()).length)
    expect(thread.done, `in rounds of ${rounds}`).to.have.length(100)
    for (let turn = 0; turn < 10; turn += 1) await Promise.resolve()
    expect(order).to.deep.equal(Array.from({ length: 100 }, (_, index) => index))
  })

  it('schedules nothing if nobody waits', async () => {
    const thread = new Thread()
    await thread.ask('a', 5)
    await thread.round()
    expect(thread.isIdle).to.equal(true)
  })
})
