import type { StructuralSchema } from '../../src/crds/structural.ts'
import { GIT_NAMES, REPOSITORY_NAMES } from '../cases/gitNames.ts'

type Values = readonly unknown[]
const text = (length: number) => 'a'.repeat(length)

const ANY: Values = [null, 5, -1, 1.5, true, 'text', '', [], {}, [{}], [null]]

/** Control characters of C0 and C1, invisible characters, spaces at the ends, other cases and scripts, quoting. */
const TEXTS: Values = [
  ' x',
  'x ',
  'a\nb',
  'a\u0000b',
  'a\u0085b',
  'a\u009fb',
  'shop.example.com\n',
  ...['a\u200bb', 'a\u202eb', '\u2066a\u2069', '\ufeffa', '\u00a0', 'a\u00a0', 'a\u00a0b', '\u3164', '👩\u200d👧'],
  'É',
  '\\',
  "'",
  'UPPER',
  'a b',
  '../a',
  '.',
]
const QUANTITIES: Values = [
  ...[
    '0',
    '0m',
    '0Gi',
    '0.0',
    '1',
    '1m',
    '1Mi',
    '1023Ki',
    '1Ei',
    '2Ei',
    '999999999999999Ei',
    '100k',
    '101k',
    '1G',
    '2G',
  ],
  ...['-1', '+1', '1e3', '1E', '0.000000001', '1.5Gi', '.5', '5.', '1Kib', ' 1', '512 Mi'],
]
const SCHEDULES: Values = [
  ...[
    '0 2 * * *',
    '99 * * * *',
    '* * * * 8',
    '*/0 * * * *',
    '1-60 * * * *',
    '30-10 * * * *',
    '* * * * 5-7',
    '5/2 * * * *',
  ],
  ...[
    '0 2 31 2 *',
    '0 2 30 2 *',
    '0 2 29 2 *',
    '0 2 31 4 *',
    '0 2 31 4,5 *',
    '0 2 31 2 1',
    '0 2 30-31 2 *',
    '0 2 31 */2 *',
    '0 2 31 2 1,*',
    '0 2 30 2 2,*/1',
    '0 2 30 2 */2',
    '0 2 31 4 *,1',
    '0 2 31 4 */2,5-7',
    '0 2 31 5 1,*',
  ],
  ...[
    '0 2 31 4-6/2 *',
    '0 2 31 9-10 *',
    '* * * *',
    '* * * * * *',
    '@daily',
    '0 2 * JAN *',
    '1,,2 * * * *',
    '1,1 * * * *',
  ],
  ...['0  2 * * *', '-1 * * * *', '* 24 * * *', '* * 0 * *', '* * * 0 *', '1-2-3 * * * *', '*-5 * * * *', '1/ * * * *'],
]
const TIMES: Values = [
  ...[
    'tomorrow',
    '2026-01-31',
    '2026-01-31T12:00:00',
    '2026-01-31 12:00:00Z',
    '2026-01-31t12:00:00z',
    '2026-01-31T12:00Z',
  ],
  '2027-01-31T12:00:00Z\n',
  ...['2026-02-30T12:00:00Z', '2026-13-01T12:00:00Z', '2026-01-31T25:00:00Z', '2027-01-31T12:00:00.123456789+02:00'],
]
const IDS: Values = [
  'nope',
  '7b0c5d6e-1f2a-4b3c-8d4e-5f6a7b8c9d0e\n',
  '7B0C5D6E-1F2A-4B3C-8D4E-5F6A7B8C9D0E',
  '7b0c5d6e1f2a4b3c8d4e5f6a7b8c9d0e',
  text(36),
]

const URLS: Values = [
  '',
  '\u0001',
  '\u0085',
  '\r\n',
  '\u00a0',
  '\u200b',
  '\u202e',
  '\u2028',
  '\u3000',
  '\ufeff',
  'é',
  '@',
  '?',
  '#',
].map((odd) => `https://git.example.com/acme/sh${odd}op`)

/** Values that may or may not be valid in a place of a structural schema: of all types, and around each bound. */
export function triedValues(schema: StructuralSchema): unknown[] {
  // The API server takes any array for a string with a format; controllers read such a time as none.
  const isTime = schema.format === 'date-time'
  return [...ANY.filter((value) => !(isTime && Array.isArray(value))), ...ofType(schema)]
}

function ofType(schema: StructuralSchema): Values {
  const { type, maxLength, minLength, minimum, maximum, maxItems, maxProperties } = schema as Record<string, number>
  if (schema.type === 'string') {
    return [
      ...TEXTS,
      ...(maxLength === undefined ? [] : [text(maxLength), text(maxLength + 1)]),
      ...(minLength === undefined || minLength < 2 ? [] : [text(minLength - 1)]),
      ...((schema.enum as string[] | undefined) ?? []).flatMap((word) => [word, word.toLowerCase(), `${word}x`]),
      ...matters(schema),
    ]
  }
  if (schema.type === 'integer' || schema.type === 'number') {
    const bounds = [minimum, maximum].filter((bound) => bound !== undefined)
    return [0, '1', 1e300, ...bounds.flatMap((bound) => [bound - 1, bound, bound + 1])]
  }
  if (schema.type === 'array' && maxItems !== undefined) return [Array.from({ length: maxItems + 1 }, () => 'a')]
  if (type !== undefined && schema.additionalProperties !== undefined) {
    const most = maxProperties ?? 0
    const pairs = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, at) => [`k${at}`, 'v']))
    return [{ a: 5 }, { a: null }, { '': 'x' }, { 'a\nb': 'x' }, { [text(200)]: 'x' }, pairs(most), pairs(most + 1)]
  }
  return []
}

const NETWORKS: Values = [
  ...['10.0.0.0/8', '10.0.0.0', '10.0.0.0/33', '10.0.0.1/8', '010.0.0.0/8', '2001:db8::/32', '2001:DB8::/32', '::/129'],
  ...['a/8', '/8', ',', '10.0.0.0/8,', '10.0.0.0/8 ', '10.0.0.0/8\n', '10.0.0.0/8,10.0.0.0/8', '::ffff:10.0.0.0/104'],
]

function matters(schema: StructuralSchema): Values {
  const said = JSON.stringify(schema)
  if (said.includes('isQuantity')) return QUANTITIES
  if (said.includes('cron')) return SCHEDULES
  if (/https\??:/.test(said) && said.includes('Zs}')) return URLS
  if (said.includes('CIDR')) return NETWORKS
  if (said.includes('check-ref-format')) return GIT_NAMES.all
  if (said.includes('full name of a repository')) return REPOSITORY_NAMES.all
  if (schema.format === 'date-time') return TIMES
  return said.includes('[0-9a-f]{8}-') ? IDS : []
}
