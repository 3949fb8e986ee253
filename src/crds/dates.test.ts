import { expect } from 'chai'
import { z } from 'zod'
import { datesInUtc } from './dates.ts'
import { DateTime } from './fields.ts'

const At = z.object({
  at: DateTime.nullish().describe('When'),
  text: z.string(),
  list: z.array(z.strictObject({ at: DateTime.optional() })).default([]),
  byName: z.record(z.string(), DateTime).optional(),
  either: z.union([z.object({ at: DateTime }), z.string()]).optional(),
})
const convert = datesInUtc(At)

describe('dates', () => {
  for (const [title, given, told] of [
    ['with an offset are told in UTC', '2026-12-01T10:00:00+02:00', '2026-12-01T08:00:00Z'],
    ['are told on the day that it is in UTC', '2026-12-31T23:30:00-01:00', '2027-01-01T00:30:00Z'],
    ['are as exact as they were', '2026-12-01T10:00:00.123456+02:00', '2026-12-01T08:00:00.123456Z'],
    ['in UTC stay as they are', '2026-12-01T10:00:00.5Z', '2026-12-01T10:00:00.5Z'],
    ['that UTC has no four digits for stay as they are', '0000-01-01T00:00:00+01:00', '0000-01-01T00:00:00+01:00'],
  ] as const) {
    it(title, () => expect(convert({ at: given })).to.deep.equal({ at: told }))
  }

  it('are found in lists, maps, choices and records of records, and nowhere else', () => {
    const [given, told] = ['2026-12-01T10:00:00+02:00', '2026-12-01T08:00:00Z']
    const value = (at: string) => ({ list: [{ at }], byName: { one: at }, either: { at }, text: given, more: given })
    expect(convert(value(given))).to.deep.equal(value(told))
  })

  it('that say the same time as before stay as they were written', () => {
    const [before, same] = ['2026-12-01T10:00:00+02:00', '2026-12-01T08:00:00Z']
    expect(convert({ at: same, list: [{ at: same }] }, { at: before, list: [] })).to.deep.equal({
      ...{ at: before, list: [{ at: same }] },
    })
  })

  it('that are in UTC cost no copy', () => {
    const value = Object.freeze({ at: null, text: '', list: Object.freeze([{ at: '2026-12-01T08:00:00Z' }]) })
    expect(convert(value)).to.equal(value)
  })
})
