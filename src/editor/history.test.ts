import { expect } from 'chai'
import type { StatementKind } from './classification.ts'
import { type HistoryEntry, historyTexts, packHistory, unexpiredEntries, unpackHistory, withEntry } from './history.ts'

const entry = (id: string, executedAt: string): HistoryEntry => ({
  id,
  executedAt,
  executedBy: 'somebody',
  principalId: 'p',
  database: 'app',
  sql: 'select ?',
  kind: 'Read',
  outcome: 'Succeeded',
  durationMs: 1,
  rowCount: 1,
  rowsAffected: null,
  error: null,
})

type Read = Parameters<typeof historyTexts>
const maskedSql = (dialect: Read[0], sql: string) => historyTexts(dialect, sql, 'Read').masked
const shownSql = (...read: Read) => historyTexts(...read).shown

describe('history of the editor', () => {
  it('masks the literals of a statement', () => {
    expect(maskedSql('mariadb', "select \"a\", 'b\\'c', 0x1f -- pw\n")).to.equal('select ?, ?, ?  \n')
    expect(maskedSql('postgresql', "alter role x password $$s3cret$$; select E'\\'x', 1.5e3")).to.equal(
      'alter role x password ?; select ?, ?',
    )
    expect(maskedSql('mssql', "select N'x' from [t'x']")).to.equal("select ? from [t'x']")
    expect(maskedSql('mariadb', "select 'never closed")).to.equal('select …')
  })

  it('shows literals of up to 256 characters, and cuts longer ones', () => {
    const [fits, long] = ['f'.repeat(256), 'l'.repeat(257)]
    expect(shownSql('mssql', `select N'a', 1.5, '${fits}', '${long}'`, 'Read')).to.equal(
      `select N'a', 1.5, '${fits}', '${long.slice(1)}…'`,
    )
    expect(shownSql('mariadb', 'update t set a = "it\'s" -- why\n', 'Write')).to.equal('update t set a = "it\'s"  \n')
  })

  const withPasswords: [string, StatementKind][] = [
    ["create user x identified by 'geheim'", 'Admin'],
    ["call f('geheim')", 'Unknown'],
    ["select 1; update people set password = 'geheim'", 'Write'],
    ["select `Api_Key` from t where `Api_Key` = 'geheim'", 'Read'],
    ["set @token = 'geheim'", 'Write'],
    ["select 1 /* password geheim */; select 'never closed geheim", 'Read'],
  ]
  for (const [sql, kind] of withPasswords)
    it(`shows no literal of a batch that may hold a password: ${sql}`, () => {
      expect(shownSql('mariadb', sql, kind)).to.not.include('geheim')
    })

  it('truncates a statement to 4 KiB', () => {
    const masked = maskedSql('mariadb', `select ${'ż'.repeat(5000)}`)
    expect(Buffer.byteLength(masked)).to.be.at.most(4096)
    expect(masked).to.match(/ż…$/)
  })

  it('drops entries older than 30 days, and the oldest beyond 1000', () => {
    const old = entry('old', '2026-01-01T00:00:00.000Z')
    expect(withEntry([old], entry('new', '2026-03-01T00:00:00.000Z')).map(({ id }) => id)).to.deep.equal(['new'])
    const many = Array.from({ length: 1000 }, (_, index) => entry(String(index), '2026-03-01T00:00:00.000Z'))
    const kept = withEntry(many, entry('new', '2026-03-01T00:00:01.000Z'))
    expect([kept.length, kept[0]?.id, kept.at(-1)?.id]).to.deep.equal([1000, 'new', '998'])
  })

  it('shows no entries older than 30 days', () => {
    const [newer, older] = [entry('newer', '2026-03-01T00:00:01.000Z'), entry('older', '2026-03-01T00:00:00.000Z')]
    const shown = (now: string) => unexpiredEntries([newer, older], Date.parse(now)).map(({ id }) => id)
    expect(shown('2026-03-31T00:00:00.000Z')).to.deep.equal(['newer', 'older'])
    expect(shown('2026-03-31T00:00:00.500Z')).to.deep.equal(['newer'])
    expect(shown('2026-06-01T00:00:00.000Z')).to.deep.equal([])
  })

  it('drops literals of the oldest entries before entries', async () => {
    const random = (index: number) => Array.from({ length: 200 }, (_, at) => Math.sin(index * 200 + at)).join()
    const many = Array.from({ length: 100 }, (_, index) => ({
      ...entry(String(index), '2026-03-01T00:00:00.000Z'),
      shown: random(index),
    }))
    const kept = await unpackHistory(await packHistory(many, 50_000))
    expect(kept.length).to.equal(100)
    expect([kept[0]?.shown, kept.at(-1)?.shown]).to.deep.equal([random(0), undefined])
  })

  it('drops the oldest entries that do not fit, and reads invalid data as empty', async () => {
    const many = Array.from({ length: 500 }, (_, index) =>
      entry(Math.sin(index).toString(36), '2026-03-01T00:00:00.000Z'),
    )
    const packed = await packHistory(many, 2_000)
    expect(packed.length).to.be.at.most(2_000)
    const back = await unpackHistory(packed)
    expect(back).to.deep.equal(many.slice(0, back.length))
    expect(back.length).to.be.greaterThan(0)
    expect(await unpackHistory(Buffer.from('nonsense'))).to.deep.equal([])
  })
})
