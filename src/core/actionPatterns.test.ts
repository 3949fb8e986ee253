import { expect } from 'chai'
import {
  type ActionPlane,
  compilePattern,
  coversAnyAction,
  InvalidActionPattern,
  knownPatterns,
  matchesPattern,
  patternFaults,
} from './actionPatterns.ts'
import { ACTIONS, MAX_ACTION_LENGTH } from './actions.ts'

describe('compilePattern, matchesPattern, coversAnyAction and patternFaults', () => {
  const cases: [string, string, string, boolean][] = [
    ['a name matches itself', 'apps/read', 'apps/read', true],
    ['a name does not match a longer name', 'apps/read', 'apps/readFiles', false],
    ['a name does not match a name below it', 'boundaries/members', 'boundaries/members/read', false],
    ['a trailing star matches one segment', 'apps/*', 'apps/read', true],
    ['a trailing star matches two segments', 'boundaries/*', 'boundaries/members/read', true],
    ['a trailing star does not match zero segments', 'boundaries/members/*', 'boundaries/members', false],
    ['a trailing star does not match a family with the same beginning', 'object/*', 'objectbuckets/read', false],
    ['a trailing star does not match another family', 'apps/*', 'jobs/read', false],
    ['a leading star matches one segment', '*/read', 'apps/read', true],
    ['a leading star matches two segments', '*/read', 'boundaries/members/read', true],
    ['a leading star does not match a longer last segment', '*/read', 'apps/readFiles', false],
    ['a leading star does not match a last segment with the same ending', '*/read', 'sqlcluster/schemaread', false],
    ['a leading star is case-sensitive in the last segment', '*/read', 'sqlcluster/schemaRead', false],
    ['a leading star before two segments matches three', '*/members/read', 'boundaries/members/read', true],
    ['a leading star before two segments does not match two', '*/members/read', 'members/read', false],
    ['a star alone matches one family', '*', 'apps/read', true],
    ['a star alone matches deep names', '*', 'monitoring/platform/alerts/write', true],
    ['a star alone matches open actions', '*', 'llmgateway/invoke', true],
  ]
  for (const [sentence, pattern, action, expected] of cases) {
    it(sentence, () => {
      expect(matchesPattern(compilePattern(pattern), action)).to.equal(expected)
    })
  }

  const hostile: [string, unknown][] = [
    ['an empty string', ''],
    ['a space', ' '],
    ['a name with a space', 'apps /read'],
    ['a leading space', ' apps/read'],
    ['a trailing newline', 'apps/read\n'],
    ['a NUL', 'apps/read\0'],
    ['one segment', 'apps'],
    ['two stars in a row', '**'],
    ['a last double star', 'apps/**'],
    ['two stars', '*/members/*'],
    ['stars only', '*/*'],
    ['a star in the middle', 'apps/*/read'],
    ['a star at the end of a segment', 'apps/rea*'],
    ['a star after the family without a slash', 'apps*'],
    ['a star at the start of a segment', '*apps/read'],
    ['a star and a slash', '*/'],
    ['a slash before a star', '/*'],
    ['a leading slash', '/apps/read'],
    ['a trailing slash', 'apps/'],
    ['an empty segment', 'apps//read'],
    ['an empty segment before the star', 'apps//*'],
    ['a parent segment', 'apps/../jobs/read'],
    ['an upper-case family', 'APPS/read'],
    ['a hyphen', 'sql-cluster/read'],
    ['an underscore', '__proto__/read'],
    ['a question mark', 'apps/?ead'],
    ['a regular expression', '.*'],
    ['a regular expression with exponential backtracking', '(a+)+$/read'],
    ['braces', '{apps,jobs}/read'],
    ['an encoded slash', 'apps%2fread'],
    ['a full-width star', '\uff0a'],
    ['a Cyrillic letter', '\u0430pps/read'],
    ['a comma list', 'apps/read,jobs/read'],
    ['a negation', '!apps/read'],
    ['a name of 129 characters', `apps/${'a'.repeat(124)}`],
    ['a mebibyte of segments', 'a/'.repeat(524_288)],
    ['null', null],
    ['undefined', undefined],
    ['a number', 1],
    ['an array', ['*']],
    ['an object whose string is a pattern', { toString: () => '*' }],
  ]
  for (const [sentence, text] of hostile) {
    it(`compilePattern rejects ${sentence}`, () => {
      expect(() => compilePattern(text as string)).to.throw(InvalidActionPattern)
    })
  }

  const covering: [string, ActionPlane, boolean][] = [
    ['apps/read', 'control', true],
    ['apps/*', 'control', true],
    ['*/read', 'control', true],
    ['*', 'control', true],
    ['registry/pull', 'control', true],
    ['llmgateway/models/*', 'control', true],
    ['llmgateway/*', 'control', true],
    ['apps/fly', 'control', false],
    ['Apps/read', 'control', false],
    ['nosuch/read', 'control', false],
    ['zz', 'control', false],
    ['app/*', 'control', false],
    ['*/fly', 'control', false],
    ['llmgatewayx/*', 'control', false],
    ['apps/readLogs', 'control', false],
    ['apps/readLogs', 'data', true],
    ['*/readLogs', 'data', true],
    ['apps/read', 'data', false],
    ['registry/pull', 'data', false],
  ]
  for (const [pattern, nature, expected] of covering) {
    it(`coversAnyAction is ${expected} for ${pattern} among ${nature} actions`, () => {
      expect(coversAnyAction(pattern, nature)).to.equal(expected)
    })
  }

  for (const nature of ['control', 'data'] as const) {
    it(`every known pattern of ${nature} actions compiles and matches one of them`, () => {
      for (const text of knownPatterns(nature)) {
        const pattern = compilePattern(text)
        expect(
          ACTIONS.some(({ name, isData }) => isData === (nature === 'data') && matchesPattern(pattern, name)),
          text,
        ).to.equal(true)
      }
    })
  }

  it('coversAnyAction is false for an open action longer than any', () => {
    const of = (length: number) => `registry/${'a'.repeat(length - 9)}`
    expect(
      [MAX_ACTION_LENGTH, MAX_ACTION_LENGTH + 1].map((length) => coversAnyAction(of(length), 'control')),
    ).to.deep.equal([true, false])
  })

  it('knownPatterns has every prefix and suffix of an action, sorted', () => {
    const known = knownPatterns('data')
    expect(known).to.include.members(['*', 'apps/*', '*/readLogs', 'apps/readLogs'])
    expect(known).to.deep.equal([...known].sort())
  })

  it('patternFaults checks each list against actions of its kind', () => {
    const lists = {
      actions: [],
      dataActions: ['apps/readLogs'],
      notActions: ['apps/readLogs'],
      notDataActions: ['apps/read'],
    }
    expect(patternFaults(lists)).to.deep.equal([
      { field: 'notActions.0', pattern: 'apps/readLogs', message: 'matches no action of the platform' },
      { field: 'notDataActions.0', pattern: 'apps/read', message: 'matches no data action of the platform' },
    ])
  })

  it('patternFaults reports the patterns that match no action, with their position', () => {
    const lists = { actions: ['apps/*', 'zz'], notActions: ['Apps/read'], dataActions: ['apps/read'] }
    expect(patternFaults(lists).map(({ field, message }) => `${field} ${message}`)).to.deep.equal([
      'actions.1 matches no action of the platform',
      'notActions.0 matches no action of the platform',
      'dataActions.0 matches no data action of the platform',
    ])
  })
})
