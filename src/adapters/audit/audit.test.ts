import { appendFile, mkdtemp, readdir, rm, symlink } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { ManualClock } from '../../../test/make/clock.ts'
import { createFileAuditLog } from './file.ts'
import { createMemoryAuditLog } from './memory.ts'
import { AuditError, type AuditLog, AuditShareError } from './port.ts'

type Entry = { id: string; timestamp: string; what?: string }
const DAY = 86_400_000
const START = Date.parse('2026-05-01T12:00:00Z')
const entry = (id: string, what = 'push', at = START): Entry => ({ id, what, timestamp: new Date(at).toISOString() })
const ids = (entries: readonly Entry[]) => entries.map(({ id }) => id)
const everything = () => true

function auditContract(open: () => AuditLog<Entry>) {
  it('returns the newest matching entries first, each id once', async () => {
    const log = open()
    await log.append([entry('a'), entry('b', 'pull')])
    await log.append([entry('c'), entry('a')])
    expect(ids(await log.newest(10, everything))).to.deep.equal(['a', 'c', 'b'])
    expect(ids(await log.newest(1, everything))).to.deep.equal(['a'])
    expect(ids(await log.newest(10, ({ what }) => what === 'pull'))).to.deep.equal(['b'])
    await log.append([entry('d', 'push', START + 1000)])
    expect(ids(await log.newest(10, everything, START + 1))).to.deep.equal(['d'])
  })
}

describe('createMemoryAuditLog', () => {
  auditContract(() => createMemoryAuditLog<Entry>())

  it('drops the oldest entry when it is full', async () => {
    const log = createMemoryAuditLog<Entry>(2)
    await log.append([entry('a'), entry('b'), entry('c')])
    expect(ids(await log.newest(10, everything))).to.deep.equal(['c', 'b'])
  })

  it('drops minor entries first', async () => {
    const log = createMemoryAuditLog<Entry>(3)
    await log.append([entry('push')])
    for (const id of ['x', 'y', 'z']) await log.append([entry(id, 'refused')], { isMinor: true })
    expect(ids(await log.newest(10, everything))).to.deep.equal(['z', 'y', 'push'])
  })
})

/** The party of an entry is what comes before the dash in its id. */
const partyOf = ({ id }: Entry) => id.split('-')[0] ?? ''

describe('createMemoryAuditLog of several parties', () => {
  it('drops the entries of the party that has the most, so that nobody displaces those of others', async () => {
    const log = createMemoryAuditLog<Entry>(4, partyOf)
    await log.append([entry('quiet-1'), entry('other-1')])
    for (let at = 1; at <= 9; at += 1) await log.append([entry(`busy-${at}`)])
    expect(ids(await log.newest(10, everything))).to.deep.equal(['busy-9', 'busy-8', 'other-1', 'quiet-1'])
  })
})

describe('createFileAuditLog', () => {
  let folder: string
  let clock: ManualClock
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'freehold-audit-'))
    clock = new ManualClock(START)
  })
  afterEach(() => rm(folder, { recursive: true, force: true }))
  auditContract(() => createFileAuditLog<Entry>({ folder, clock }))

  it('keeps 90 days of entries, one file per day', async () => {
    const log = createFileAuditLog<Entry>({ folder, clock })
    await log.append([entry('old')])
    await clock.advance(90 * DAY)
    await log.append([entry('later', 'push', clock.now())])
    expect(ids(await log.newest(10, everything))).to.deep.equal(['later', 'old'])
    await clock.advance(DAY)
    await log.append([entry('latest', 'push', clock.now())])
    expect(await readdir(folder)).to.have.length(2)
    expect(ids(await log.newest(10, everything))).to.deep.equal(['latest', 'later'])
  })

  describe('with parties', () => {
    const BYTES = 10_000
    const fill = async (log: AuditLog<Entry>, party: string) => {
      for (let at = 0; at < BYTES; at += 1) {
        const failure = await log.append([entry(`${party}-${at}`)]).catch((error: unknown) => error)
        if (failure !== undefined) return { failure, count: at }
      }
      throw new Error('The log takes anything.')
    }

    it('leaves as much of a day as one party has written, and none of them fills it', async () => {
      const log = createFileAuditLog<Entry>({ folder, clock, dayBytes: BYTES, partyOf })
      const counts: number[] = []
      for (const party of ['busy', 'more', 'last']) {
        const { failure, count } = await fill(log, party)
        expect(failure).to.be.instanceOf(AuditShareError)
        counts.push(count)
      }
      const [busy = 0, more = 0, last = 0] = counts
      expect([Math.round(busy / more), Math.round(more / last)]).to.deep.equal([2, 2])
      await log.append([entry('quiet-1')])
      await clock.advance(DAY)
      expect((await fill(log, 'busy')).count).to.be.at.least(busy - 1)
    })

    it('takes no share for minor entries, which others can cause, and none for those of nobody', async () => {
      const log = createFileAuditLog<Entry>({ folder, clock, dayBytes: BYTES, partyOf })
      for (let at = 0; at < 90; at += 1) await log.append([entry(`victim-${at}`)], { isMinor: true })
      await log.append([entry('victim-own')])
      const { count } = await fill(log, '')
      expect(count).to.be.above(50)
    })

    it('appends nothing of a call in which one party has no share left', async () => {
      const log = createFileAuditLog<Entry>({ folder, clock, dayBytes: BYTES, partyOf })
      await fill(log, 'busy')
      const failure = await log.append([entry('quiet-1'), entry('busy-x')]).catch((error: unknown) => error)
      expect(failure).to.be.instanceOf(AuditShareError)
      expect(await log.newest(10, ({ id }) => id === 'quiet-1')).to.deep.equal([])
    })
  })

  it('skips a line that was cut off', async () => {
    const log = createFileAuditLog<Entry>({ folder, clock })
    await log.append([entry('a')])
    await appendFile(join(folder, '2026-05-01.jsonl'), '{"id":"b","ti\n')
    await log.append([entry('c')])
    expect(ids(await log.newest(10, everything))).to.deep.equal(['c', 'a'])
  })

  it('loses no entry after one that was written half, by a full disk or a process that died', async () => {
    const log = createFileAuditLog<Entry>({ folder, clock })
    await log.append([entry('a')])
    await appendFile(join(folder, '2026-05-01.jsonl'), '{"id":"b","ti')
    await log.append([entry('c')])
    expect(ids(await log.newest(10, everything))).to.deep.equal(['c', 'a'])
  })

  it('rejects while a file cannot be read, as whoever relies on its entries would miss them', async () => {
    const log = createFileAuditLog<Entry>({ folder, clock })
    expect(await log.newest(10, everything)).to.deep.equal([])
    const path = join(folder, '2026-05-01.jsonl')
    await symlink(path, path)
    expect(await log.newest(10, everything).catch((error: unknown) => error)).to.be.instanceOf(AuditError)
  })

  it('reads only the newest bytes of a file, unless all entries are requested', async () => {
    const log = createFileAuditLog<Entry>({ folder, clock, readBytes: 200 })
    await log.append([entry('push')])
    await log.append(Array.from({ length: 20 }, (_, at) => entry(`noise-${at}`, 'refused')))
    const pushes = ({ what }: Entry) => what === 'push'
    expect(await log.newest(10, pushes)).to.deep.equal([])
    expect(ids(await log.newest(10, pushes, START, 'all'))).to.deep.equal(['push'])
  })

  it('rejects an entry beyond the daily size limit, but drops a minor one silently', async () => {
    const log = createFileAuditLog<Entry>({ folder, clock, dayBytes: 100 })
    await log.append([entry('a'), entry('b')])
    await log.append([entry('minor')], { isMinor: true })
    expect(ids(await log.newest(10, everything))).to.deep.equal(['b', 'a'])
    expect(await log.append([entry('c')]).catch((error: unknown) => error)).to.be.instanceOf(AuditError)
    await clock.advance(DAY)
    await log.append([entry('d')])
  })
})
