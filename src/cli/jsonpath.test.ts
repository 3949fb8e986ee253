import { expect } from 'chai'
import { evaluateTemplate } from './jsonpath.ts'

describe('templates of output', () => {
  const record = { id: 'a', tags: { 'a.b': 'c' }, peers: [{ uri: 'x', ok: true }, { uri: 'y' }], none: null }
  const cases: [string, string, unknown, string][] = [
    ['take a field', '{.id}', record, 'a'],
    ['take a field without braces', '.id', record, 'a'],
    ['take one of a list', '{.peers[1].uri}', record, 'y'],
    ['take all of a list', '{.peers[*].uri}', record, 'x y'],
    ['take a name with dots', "{.tags['a.b']}", record, 'c'],
    ['keep text between', 'id={.id}{"\\n"}', record, 'id=a\n'],
    ['show nothing for what is not there', '[{.nothing.below}]', record, '[]'],
    ['show nothing for null', '[{.none}]', record, '[]'],
    ['show objects as JSON', '{.peers[0]}', record, '{"uri":"x","ok":true}'],
    ['take items of a list as kubectl does', '{.items[*].name}', [{ name: 'a' }, { name: 'b' }], 'a b'],
    ['take items of a list by number', '{[1].name}', [{ name: 'a' }, { name: 'b' }], 'b'],
    ['reach nothing that objects inherit', '{.constructor}', record, ''],
  ]
  for (const [what, template, value, expected] of cases) {
    it(what, () => expect(evaluateTemplate(template, value)).to.equal(expected))
  }

  for (const template of ['{.status', '.status}', '{.a}{', 'x{.a}}']) {
    it(`refuse an unmatched brace: ${template}`, () => {
      expect(() => evaluateTemplate(template, record)).to.throw(/an unmatched brace/)
    })
  }

  it('refuse what is no path', () => {
    expect(() => evaluateTemplate('{.a[?(@.b)]}', record)).to.throw(/not a path of fields/)
  })
})
