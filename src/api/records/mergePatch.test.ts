import { expect } from 'chai'
import { isEqual, mergePatch, mergePatchBetween } from './mergePatch.ts'

describe('mergePatch', () => {
  // RFC 7396 appendix A, in its order: original, patch, result.
  const rfc: [unknown, unknown, unknown][] = [
    [{ a: 'b' }, { a: 'c' }, { a: 'c' }],
    [{ a: 'b' }, { b: 'c' }, { a: 'b', b: 'c' }],
    [{ a: 'b' }, { a: null }, {}],
    [{ a: 'b', b: 'c' }, { a: null }, { b: 'c' }],
    [{ a: ['b'] }, { a: 'c' }, { a: 'c' }],
    [{ a: 'c' }, { a: ['b'] }, { a: ['b'] }],
    [{ a: { b: 'c' } }, { a: { b: 'd', c: null } }, { a: { b: 'd' } }],
    [{ a: [{ b: 'c' }] }, { a: [1] }, { a: [1] }],
    [
      ['a', 'b'],
      ['c', 'd'],
      ['c', 'd'],
    ],
    [{ a: 'b' }, ['c'], ['c']],
    [{ a: 'foo' }, null, null],
    [{ a: 'foo' }, 'bar', 'bar'],
    [{ e: null }, { a: 1 }, { e: null, a: 1 }],
    [[1, 2], { a: 'b', c: null }, { a: 'b' }],
    [{}, { a: { bb: { ccc: null } } }, { a: { bb: {} } }],
  ]
  for (const [original, patch, result] of rfc) {
    it(`returns ${JSON.stringify(result)} for ${JSON.stringify(original)} and ${JSON.stringify(patch)}`, () => {
      expect(mergePatch(original, patch)).to.deep.equal(result)
    })
  }

  const hostileNames = [
    '__proto__',
    'constructor',
    'prototype',
    'toString',
    'hasOwnProperty',
    'valueOf',
    '__defineGetter__',
    '',
  ]
  for (const name of hostileNames) {
    it(`treats "${name}" as a plain name at every level`, () => {
      const patch = JSON.parse(
        `{${JSON.stringify(name)}:{"polluted":true},"a":{${JSON.stringify(name)}:{"polluted":true}}}`,
      )
      const result = mergePatch({ a: {} }, patch) as Record<string, unknown>
      expect(Object.hasOwn(result, name)).to.equal(true)
      expect(Object.getPrototypeOf(result)).to.equal(Object.prototype)
      expect(({} as { polluted?: boolean }).polluted).to.equal(undefined)
      expect(Object.prototype).to.not.have.property('polluted')
    })
  }

  it('removes a hostile name without changing Object.prototype', () => {
    for (const name of hostileNames) mergePatch({ a: 1 }, JSON.parse(`{${JSON.stringify(name)}:null}`))
    expect(Object.hasOwn(Object.prototype, 'toString')).to.equal(true)
  })

  it('does not change its arguments', () => {
    const [target, patch] = [{ a: { b: 1 } }, { a: { c: 2 } }]
    mergePatch(target, patch)
    expect([target, patch]).to.deep.equal([{ a: { b: 1 } }, { a: { c: 2 } }])
  })
})

describe('mergePatchBetween', () => {
  const cases: [string, unknown, unknown, unknown][] = [
    ['nothing for equal objects', { a: 1 }, { a: 1 }, undefined],
    ['nothing for an absent and an undefined member', { a: 1 }, { a: 1, b: undefined }, undefined],
    ['a new member', {}, { a: 1 }, { a: 1 }],
    ['a changed member', { a: 1 }, { a: 2 }, { a: 2 }],
    ['a removed member', { a: 1 }, {}, { a: null }],
    ['a member that became undefined', { a: 1 }, { a: undefined }, { a: null }],
    ['a changed nested member', { a: { b: 1, c: 2 } }, { a: { b: 1, c: 3 } }, { a: { c: 3 } }],
    ['a removed nested member', { a: { b: 1 } }, { a: {} }, { a: { b: null } }],
    ['a whole list', { a: [1, 2] }, { a: [1, 3] }, { a: [1, 3] }],
    ['nothing for equal lists', { a: [{ b: 1 }] }, { a: [{ b: 1 }] }, undefined],
    ['an object for a string', { a: 'b' }, { a: { c: 1 } }, { a: { c: 1 } }],
    ['a string for an object', { a: { c: 1 } }, { a: 'b' }, { a: 'b' }],
    ['false for true', { a: true }, { a: false }, { a: false }],
    ['an empty string', { a: 'x' }, { a: '' }, { a: '' }],
    ['zero', { a: 1 }, { a: 0 }, { a: 0 }],
    [
      'a tag with a hostile name',
      { tags: {} },
      { tags: JSON.parse('{"constructor":"x"}') },
      { tags: { constructor: 'x' } },
    ],
  ]
  for (const name of ['constructor', 'toString', 'hasOwnProperty', 'valueOf'])
    it(`returns the removal and the addition of "${name}"`, () => {
      expect(mergePatchBetween({ tags: { [name]: 'x' } }, { tags: {} })).to.deep.equal({ tags: { [name]: null } })
      expect(mergePatchBetween({ tags: {} }, { tags: { [name]: 'x' } })).to.deep.equal({ tags: { [name]: 'x' } })
      expect(isEqual({ [name]: null }, {})).to.equal(true)
      expect(isEqual({ [name]: 'x' }, {})).to.equal(false)
    })

  for (const [sentence, from, to, patch] of cases) {
    it(`returns ${sentence}`, () => {
      expect(mergePatchBetween(from, to)).to.deep.equal(patch)
      if (patch !== undefined) expect(isEqual(mergePatch(from, patch), to)).to.equal(true)
    })
  }
})

describe('isEqual', () => {
  const cases: [string, unknown, unknown, boolean][] = [
    ['ignores the order of members', { a: 1, b: 2 }, { b: 2, a: 1 }, true],
    ['treats undefined, null and absent as equal', { a: undefined, b: null }, {}, true],
    ['compares the order of lists', [1, 2], [2, 1], false],
    ['distinguishes a number from a string', { a: 1 }, { a: '1' }, false],
    ['distinguishes an empty list from an empty object', [], {}, false],
    ['distinguishes a list from its beginning', [1], [1, 2], false],
  ]
  for (const [sentence, one, other, wanted] of cases) {
    it(sentence, () => expect([isEqual(one, other), isEqual(other, one)]).to.deep.equal([wanted, wanted]))
  }
})
