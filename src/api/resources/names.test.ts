import { expect } from 'chai'
import { isResourceName } from '../../core/names.ts'
import { nameViolations } from './names.ts'

const reserved = new Set(['validate'])

describe('nameViolations', () => {
  const cases: [string, string[], string][] = [
    ['index', [], 'a plain name'],
    ['a', [], 'one letter'],
    ['a'.repeat(52), [], 'the longest name'],
    ['9lives', [], 'a leading digit'],
    ['a'.repeat(53), ['TooLong'], '53 characters'],
    [' ', ['Empty'], 'a space'],
    ['Index', ['BadCharacter'], 'an upper-case letter'],
    ['-index', ['BadCharacter'], 'a leading hyphen'],
    ['index-', ['BadCharacter'], 'a trailing hyphen'],
    ['in.dex', ['BadCharacter'], 'a dot'],
    ['ündex', ['BadCharacter'], 'an umlaut'],
    [`${'a'.repeat(60)}!`, ['TooLong', 'BadCharacter'], '61 characters with an exclamation mark'],
    ['validate', ['Reserved'], 'a literal segment of a route'],
  ]
  for (const [name, codes, title] of cases) {
    it(`${codes.length === 0 ? 'accepts' : 'rejects'} ${title}`, () => {
      expect(nameViolations(name, reserved).map(({ code }) => code)).to.deep.equal(codes)
      // POST and this route must agree.
      expect(codes.length === 0).to.equal(isResourceName(name) && !reserved.has(name))
    })
  }
})
