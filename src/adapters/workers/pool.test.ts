import { expect } from 'chai'
import { type PoolLimits, startWorkers } from './pool.ts'
import { type Workers, WorkRefused } from './port.ts'

const small = { dialect: 'postgresql', sql: 'select @a, 1', parameters: ['a'] } as const
/** Some tenths of a second. */
const large = { dialect: 'mariadb', sql: `select ${Array(4_000).fill('a').join(',')}`, parameters: [] } as const

describe('workers', () => {
  let workers: Workers
  const started = (limits: Partial<PoolLimits> = {}) => {
    // No deadline that a slow machine would pass, unless a test is about it.
    workers = startWorkers({ deadline: 600_000, ...limits })
    return workers
  }
  const refusalOf = (work: Promise<unknown>) =>
    work.then(
      () => 'none',
      (error: unknown) => (error instanceof WorkRefused ? error.reason : String(error)),
    )
  afterEach(() => workers.stop())

  it('give what the task gives', async () => {
    const { classification, masked } = await started().run('readBatch', small, 'a')
    expect(classification.statements[0]).to.include({ text: 'select $1, 1', kind: 'Read' })
    expect(masked).to.equal('select @a, ?')
  })

  it('leave the thread of the caller free', async () => {
    await started().run('readBatch', small, 'a')
    let turns = 0
    const timer = setInterval(() => {
      turns += 1
    }, 1)
    const began = performance.now()
    await workers.run('readBatch', large, 'a')
    clearInterval(timer)
    expect(performance.now() - began, 'the batch takes no time').to.be.greaterThan(50)
    // On a thread that was busy with it there would have been none.
    expect(turns).to.be.greaterThan(2)
  })

  it('take one after the other of each principal, so that nobody waits for all that one has asked', async () => {
    started({ threads: 2 })
    const ended: string[] = []
    const ask = (who: string, batch: typeof small | typeof large) =>
      workers.run('readBatch', batch, who).then(() => ended.push(who))
    // Both threads: one that must start first takes as long as some tasks.
    await Promise.all([ask('warm', small), ask('warm too', small)])
    await Promise.all([ask('greedy', large), ask('greedy', large), ask('greedy', large), ask('modest', small)])
    expect(ended.indexOf('modest')).to.be.lessThan(ended.lastIndexOf('greedy'))
  })

  it('refuse a principal that has too much under way, and nobody else for it', async () => {
    started({ perPrincipal: 2 })
    const asked = ['a', 'a', 'a', 'b'].map((who) => refusalOf(workers.run('readBatch', small, who)))
    expect(await Promise.all(asked)).to.deep.equal(['none', 'none', 'TooMany', 'none'])
    expect(await refusalOf(workers.run('readBatch', small, 'a'))).to.equal('none')
  })

  it('refuse everybody where too much is waiting', async () => {
    started({ threads: 1, waiting: 2 })
    const asked = ['a', 'b', 'c', 'd'].map((who) => refusalOf(workers.run('readBatch', small, who)))
    expect(await Promise.all(asked)).to.deep.equal(['none', 'none', 'none', 'Busy'])
  })

  it('give a principal so much time in a minute, and say when there is more', async () => {
    started({ perMinute: 1 })
    expect(await refusalOf(workers.run('readBatch', large, 'a'))).to.equal('none')
    const error: unknown = await workers.run('readBatch', small, 'a').catch((thrown: unknown) => thrown)
    expect(error).to.be.instanceOf(WorkRefused)
    expect((error as WorkRefused).reason).to.equal('TooMany')
    expect((error as WorkRefused).retryAfterSeconds).to.be.within(1, 60)
    expect(await refusalOf(workers.run('readBatch', small, 'b'))).to.equal('none')
  })

  it('end what is not done in time, and go on with the next', async () => {
    started({ deadline: 1 })
    expect(await refusalOf(workers.run('readBatch', large, 'a'))).to.equal('Overdue')
    await workers.stop()
    started({ threads: 1 })
    expect(await refusalOf(workers.run('readBatch', small, 'a'))).to.equal('none')
  })

  it('refuse what still waits when they stop', async () => {
    started({ threads: 1 })
    const asked = ['a', 'b'].map((who) => refusalOf(workers.run('readBatch', large, who)))
    await workers.stop()
    expect(await Promise.all(asked)).to.deep.equal(['Busy', 'Busy'])
  })
})
