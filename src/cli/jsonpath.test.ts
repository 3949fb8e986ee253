import { expect } from 'chai'
import { evaluateTemplate } from './jsonpath.ts'

describe('evaluateTemplate', () => {
  const record = { id: 'a', tags: { 'a.b': 'c' }, peers: [{ uri: 'x', ok: true }, { uri: 'y' }], none: null }
  const cases: [string, string, unknown, string][] = [
    ['returns a field', '{.id}', record, 'a'],
    ['returns a field without braces', '.id', record, 'a'],
    ['returns one item of a list by index', '{.peers[1].uri}', record, 'y'],
    ['returns all items of a list', '{.peers[*].uri}', record, 'x y'],
    ['returns a field whose name has dots', "{.tags['a.b']}", record, 'c'],
    ['keeps text around expressions', 'id={.id}{"\\n"}', record, 'id=a\n'],
    ['returns nothing for a missing field', '[{.nothing.below}]', record, '[]'],
    ['returns nothing for null', '[{.none}]', record, '[]'],
    ['returns objects as JSON', '{.peers[0]}', record, '{"uri":"x","ok":true}'],
    ['accepts .items for a list, as kubectl does', '{.items[*].name}', [{ name: 'a' }, { name: 'b' }], 'a b'],
    ['returns an item of the outermost list by index', '{[1].name}', [{ name: 'a' }, { name: 'b' }], 'b'],
    ['returns no inherited property', '{.constructor}', record, ''],
  ]
  for (const [what, template, value, expected] of cases) {
    it(what, () => expect(evaluateTemplate(template, value)).to.equal(expected))
  }

  for (const template of ['{.status', '.status}', '{.a}{', 'x{.a}}']) {
    it(`rejects an unmatched brace: ${template}`, () => {
      expect(() => evaluateTemplate(template, record)).to.throw(/an unmatched brace/)
    })
  }

  it('rejects a filter expression', () => {
    expect(() => evaluateTemplate('{.a[?(@.b)]}', record)).to.throw(/not a path of fields/)
  })
})
