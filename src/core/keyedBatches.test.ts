import { expect } from 'chai'
import { type Answered, KeyedBatches } from './keyedBatches.ts'

describe('KeyedBatches', () => {
  let worked: string[]
  let next: PromiseWithResolvers<void>
  let batches: KeyedBatches<string, string>

  const answerOf = (request: string): Answered<string> => {
    if (request === 'refused') return () => expect.fail('it is refused')
    return () => request.toUpperCase()
  }
  beforeEach(() => {
    worked = []
    next = Promise.withResolvers()
    batches = new KeyedBatches(async (key, requests) => {
      worked.push(`${key}: ${requests.join(' ')}`)
      await next.promise
      if (requests.includes('broken')) throw new Error('it is broken')
      return requests.map(answerOf)
    })
  })
  const settled = (answers: readonly Promise<string>[]) =>
    Promise.all(answers.map((answer) => answer.catch((error: Error) => error.message)))

  it('answers what is requested during a batch in the next one', async () => {
    const answers = [batches.ask('a', 'one')]
    await Promise.resolve()
    answers.push(batches.ask('a', 'two'), batches.ask('a', 'three'), batches.ask('b', 'four'))
    await Promise.resolve()
    expect(worked).to.deep.equal(['a: one', 'b: four'])
    next.resolve()
    expect(await settled(answers)).to.deep.equal(['ONE', 'TWO', 'THREE', 'FOUR'])
    expect(worked.at(-1)).to.equal('a: two three')
  })

  it('refuses one request and answers those beside it', async () => {
    next.resolve()
    const answers = ['one', 'refused', 'two'].map((request) => batches.ask('a', request))
    expect(await settled(answers)).to.deep.equal(['ONE', 'it is refused', 'TWO'])
    expect(worked).to.have.length(1)
  })

  it('fails a whole batch, and works on the next one', async () => {
    next.resolve()
    const answers = ['one', 'broken'].map((request) => batches.ask('a', request))
    expect(await settled(answers)).to.deep.equal(['it is broken', 'it is broken'])
    expect(await batches.ask('a', 'two')).to.equal('TWO')
  })
})
