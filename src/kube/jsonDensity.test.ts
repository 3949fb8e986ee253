import { expect } from 'chai'
import { isDense } from './jsonDensity.ts'

const MIB = 1024 * 1024
const filled = (part: string) => `[${part.repeat(Math.ceil((2 * MIB) / part.length))}0]`
/** What kubectl and controllers leave in an object: the densest that real ones have. */
const managed = { '.': {}, 'f:a': {}, 'f:name': { '.': {}, 'f:value': {} }, 'k:{"name":"a"}': { '.': {} } }

describe('a text of JSON', () => {
  for (const [title, text, expected] of [
    ['is dense if it is empty objects', filled('{},'), true],
    ['is dense if it is numbers', filled('1,'), true],
    ['is dense if it is lists in lists', '['.repeat(2 * MIB), true],
    ['is dense if it is objects in objects', '{"a":'.repeat(2 * MIB), true],
    ['is not if it is field managers alone', filled(`${JSON.stringify(managed)},`), false],
    ['is not if it is one long text, whatever that holds', JSON.stringify({ text: '1,["\\'.repeat(400_000) }), false],
    ['is dense behind such a text', `{"a":${JSON.stringify('"\\,')},"b":${filled('{},')}}`, true],
    ['is not if it is short', '[1,1,1,1,1,1]', false],
  ] as const)
    it(title, () => expect(isDense(text)).to.equal(expected))
})
