import { expect } from 'chai'
import { type PoolLimits, startWorkers } from './pool.ts'
import { type Workers, WorkRefused } from './port.ts'

const small = { dialect: 'postgresql', sql: 'select @a, 1', parameters: ['a'] } as const
/** Some tenths of a second. */
const large = { dialect: 'mariadb', sql: `select ${Array(4_000).fill('a').join(',')}`, parameters: [] } as const

describe('startWorkers', () => {
  let workers: Workers
  const started = (limits: Partial<PoolLimits> = {}) => {
    // A slow machine would miss a short deadline; only the test of it sets one.
    workers = startWorkers({ deadline: 600_000, ...limits })
    return workers
  }
  const refusalOf = (work: Promise<unknown>) =>
    work.then(
      () => 'none',
      (error: unknown) => (error instanceof WorkRefused ? error.reason : String(error)),
    )
  afterEach(() => workers.stop())

  it('returns the result of a task', async () => {
    const { classification, masked } = await started().run('readBatch', small, 'a')
    expect(classification.statements[0]).to.include({ text: 'select $1, 1', kind: 'Read' })
    expect(masked).to.equal('select @a, ?')
  })

  it("does not block the caller's thread", async () => {
    await started().run('readBatch', small, 'a')
    let turns = 0
    const timer = setInterval(() => {
      turns += 1
    }, 1)
    const began = performance.now()
    await workers.run('readBatch', large, 'a')
    clearInterval(timer)
    expect(performance.now() - began, 'the batch takes no time').to.be.greaterThan(50)
    // A blocked thread would have run no timer.
    expect(turns).to.be.greaterThan(2)
  })

  it('runs one task per principal at a time, so that no principal waits for all tasks of another', async () => {
    started({ threads: 2 })
    const ended: string[] = []
    const ask = (principalId: string, batch: typeof small | typeof large) =>
      workers.run('readBatch', batch, principalId).then(() => ended.push(principalId))
    // Starts both threads first: the start takes as long as some tasks.
    await Promise.all([ask('warm', small), ask('warm too', small)])
    await Promise.all([ask('greedy', large), ask('greedy', large), ask('greedy', large), ask('modest', small)])
    expect(ended.indexOf('modest')).to.be.lessThan(ended.lastIndexOf('greedy'))
  })

  it("reports TooMany for a principal with two tasks, and accepts another principal's", async () => {
    started({ perPrincipal: 2 })
    const reasons = ['a', 'a', 'a', 'b'].map((principalId) => refusalOf(workers.run('readBatch', small, principalId)))
    expect(await Promise.all(reasons)).to.deep.equal(['none', 'none', 'TooMany', 'none'])
    expect(await refusalOf(workers.run('readBatch', small, 'a'))).to.equal('none')
  })

  it('reports Busy if the queue is full', async () => {
    started({ threads: 1, waiting: 2 })
    const reasons = ['a', 'b', 'c', 'd'].map((principalId) => refusalOf(workers.run('readBatch', small, principalId)))
    expect(await Promise.all(reasons)).to.deep.equal(['none', 'none', 'none', 'Busy'])
  })

  it("limits a principal's time per minute, and reports when to retry", async () => {
    started({ perMinute: 1 })
    expect(await refusalOf(workers.run('readBatch', large, 'a'))).to.equal('none')
    const error: unknown = await workers.run('readBatch', small, 'a').catch((thrown: unknown) => thrown)
    expect(error).to.be.instanceOf(WorkRefused)
    expect((error as WorkRefused).reason).to.equal('TooMany')
    expect((error as WorkRefused).retryAfterSeconds).to.be.within(1, 60)
    expect(await refusalOf(workers.run('readBatch', small, 'b'))).to.equal('none')
  })

  it('reports Overdue after the deadline and starts the next task', async () => {
    started({ threads: 1, deadline: 1 })
    // The second is late as well, but only a task that has started can be.
    const reasons = ['a', 'b'].map((principalId) => refusalOf(workers.run('readBatch', large, principalId)))
    expect(await Promise.all(reasons)).to.deep.equal(['Overdue', 'Overdue'])
  })

  it('reports Busy for queued tasks when it stops', async () => {
    started({ threads: 1 })
    const reasons = ['a', 'b'].map((principalId) => refusalOf(workers.run('readBatch', large, principalId)))
    await workers.stop()
    expect(await Promise.all(reasons)).to.deep.equal(['Busy', 'Busy'])
  })
})
