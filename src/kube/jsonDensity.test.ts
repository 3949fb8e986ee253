import { expect } from 'chai'
import { isDense } from './jsonDensity.ts'

const MIB = 1024 * 1024
const filled = (part: string) => `[${part.repeat(Math.ceil((2 * MIB) / part.length))}0]`
/** managedFields are the densest JSON in real objects. */
const managed = { '.': {}, 'f:a': {}, 'f:name': { '.': {}, 'f:value': {} }, 'k:{"name":"a"}': { '.': {} } }

describe('isDense', () => {
  for (const [title, text, expected] of [
    ['is true for empty objects', filled('{},'), true],
    ['is true for numbers', filled('1,'), true],
    ['is true for nested lists', '['.repeat(2 * MIB), true],
    ['is true for nested objects', '{"a":'.repeat(2 * MIB), true],
    ['is false for managedFields alone', filled(`${JSON.stringify(managed)},`), false],
    ['is false for one long string, whatever it contains', JSON.stringify({ text: '1,["\\'.repeat(400_000) }), false],
    [
      'is true for empty objects after a string with escapes',
      `{"a":${JSON.stringify('"\\,')},"b":${filled('{},')}}`,
      true,
    ],
    ['is false for a short text', '[1,1,1,1,1,1]', false],
  ] as const)
    it(title, () => expect(isDense(text)).to.equal(expected))
})
