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

describe('datesInUtc', () => {
  for (const [title, given, expected] of [
    ['converts a date with an offset to UTC', '2026-12-01T10:00:00+02:00', '2026-12-01T08:00:00Z'],
    ['converts a date to the day in UTC', '2026-12-31T23:30:00-01:00', '2027-01-01T00:30:00Z'],
    ['keeps the precision', '2026-12-01T10:00:00.123456+02:00', '2026-12-01T08:00:00.123456Z'],
    ['keeps a date in UTC', '2026-12-01T10:00:00.5Z', '2026-12-01T10:00:00.5Z'],
    ['keeps a date whose year in UTC has no four digits', '0000-01-01T00:00:00+01:00', '0000-01-01T00:00:00+01:00'],
  ] as const) {
    it(title, () => expect(convert({ at: given })).to.deep.equal({ at: expected }))
  }

  it('converts dates in lists, maps, unions and nested records only', () => {
    const [given, expected] = ['2026-12-01T10:00:00+02:00', '2026-12-01T08:00:00Z']
    const value = (at: string) => ({ list: [{ at }], byName: { one: at }, either: { at }, text: given, more: given })
    expect(convert(value(given))).to.deep.equal(value(expected))
  })

  it('keeps the spelling of an unchanged date', () => {
    const [before, same] = ['2026-12-01T10:00:00+02:00', '2026-12-01T08:00:00Z']
    expect(convert({ at: same, list: [{ at: same }] }, { at: before, list: [] })).to.deep.equal({
      ...{ at: before, list: [{ at: same }] },
    })
  })

  it('returns the same object if all dates are in UTC', () => {
    const value = Object.freeze({ at: null, text: '', list: Object.freeze([{ at: '2026-12-01T08:00:00Z' }]) })
    expect(convert(value)).to.equal(value)
  })
})
