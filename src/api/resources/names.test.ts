import { expect } from 'chai'
import { isResourceName } from '../../core/names.ts'
import { nameViolations } from './names.ts'

const reserved = new Set(['validate'])

describe('the name of a new resource', () => {
  const cases: [string, string[], string][] = [
    ['index', [], 'a plain name'],
    ['a', [], 'one letter'],
    ['a'.repeat(52), [], 'the longest name'],
    ['9lives', [], 'a digit in front'],
    ['a'.repeat(53), ['TooLong'], 'one character too many'],
    [' ', ['Empty'], 'a blank'],
    ['Index', ['BadCharacter'], 'a capital'],
    ['-index', ['BadCharacter'], 'a hyphen in front'],
    ['index-', ['BadCharacter'], 'a hyphen at the end'],
    ['in.dex', ['BadCharacter'], 'a dot'],
    ['ündex', ['BadCharacter'], 'an umlaut'],
    [`${'a'.repeat(60)}!`, ['TooLong', 'BadCharacter'], 'too long and wrong'],
    ['validate', ['Reserved'], 'the word of a route'],
  ]
  for (const [name, codes, title] of cases) {
    it(`${codes.length === 0 ? 'may be' : 'may not be'} ${title}`, () => {
      expect(nameViolations(name, reserved).map(({ code }) => code)).to.deep.equal(codes)
      // What POST takes and what this route says never differ.
      expect(codes.length === 0).to.equal(isResourceName(name) && !reserved.has(name))
    })
  }
})
