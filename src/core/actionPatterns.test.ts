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
import { ACTIONS } from './actions.ts'

describe('action patterns', () => {
  const cases: [string, string, string, boolean][] = [
    ['a name covers itself', 'apps/read', 'apps/read', true],
    ['a name does not cover a longer name', 'apps/read', 'apps/readFiles', false],
    ['a name does not cover what lies below it', 'boundaries/members', 'boundaries/members/read', false],
    ['a last star covers one segment', 'apps/*', 'apps/read', true],
    ['a last star covers two segments', 'boundaries/*', 'boundaries/members/read', true],
    ['a last star does not cover nothing', 'boundaries/members/*', 'boundaries/members', false],
    ['a last star does not cover a family that begins alike', 'object/*', 'objectbuckets/read', false],
    ['a last star does not cover another family', 'apps/*', 'jobs/read', false],
    ['a first star covers one segment', '*/read', 'apps/read', true],
    ['a first star covers two segments', '*/read', 'boundaries/members/read', true],
    ['a first star does not cover a longer last segment', '*/read', 'apps/readFiles', false],
    ['a first star does not cover a last segment that ends alike', '*/read', 'sqlcluster/schemaread', false],
    ['a first star keeps the case of the last segment', '*/read', 'sqlcluster/schemaRead', false],
    ['a first star before two segments covers three', '*/members/read', 'boundaries/members/read', true],
    ['a first star before two segments does not cover just two', '*/members/read', 'members/read', false],
    ['a star alone covers one family', '*', 'apps/read', true],
    ['a star alone covers deep names', '*', 'monitoring/platform/alerts/write', true],
    ['a star alone covers open actions', '*', 'llmgateway/invoke', true],
  ]
  for (const [sentence, pattern, action, expected] of cases) {
    it(sentence, () => {
      expect(matchesPattern(compilePattern(pattern), action)).to.equal(expected)
    })
  }

  const hostile: [string, unknown][] = [
    ['nothing', ''],
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
    ['a star glued to the family', 'apps*'],
    ['a star at the start of a segment', '*apps/read'],
    ['a star before a slash and nothing', '*/'],
    ['a slash before a star', '/*'],
    ['a leading slash', '/apps/read'],
    ['a trailing slash', 'apps/'],
    ['an empty segment', 'apps//read'],
    ['an empty segment before the star', 'apps//*'],
    ['a parent segment', 'apps/../jobs/read'],
    ['a family in capitals', 'APPS/read'],
    ['a hyphen', 'sql-cluster/read'],
    ['an underscore', '__proto__/read'],
    ['a question mark', 'apps/?ead'],
    ['a regular expression', '.*'],
    ['a regular expression that explodes', '(a+)+$/read'],
    ['braces', '{apps,jobs}/read'],
    ['an encoded slash', 'apps%2fread'],
    ['a full-width star', '\uff0a'],
    ['a Cyrillic letter', '\u0430pps/read'],
    ['a comma list', 'apps/read,jobs/read'],
    ['a negation', '!apps/read'],
    ['a name of 129 characters', `apps/${'a'.repeat(124)}`],
    ['a megabyte', 'a/'.repeat(524_288)],
    ['null', null],
    ['nothing at all', undefined],
    ['a number', 1],
    ['a list of a pattern', ['*']],
    ['an object that prints as a pattern', { toString: () => '*' }],
  ]
  for (const [sentence, text] of hostile) {
    it(`refuses ${sentence}`, () => {
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
    it(`says that ${pattern} ${expected ? 'can cover something' : 'never covers anything'} among ${nature} actions`, () => {
      expect(coversAnyAction(pattern, nature)).to.equal(expected)
    })
  }

  for (const nature of ['control', 'data'] as const) {
    it(`can be read and covers an action of its nature, whichever of ${nature} actions is known`, () => {
      for (const text of knownPatterns(nature)) {
        const pattern = compilePattern(text)
        expect(
          ACTIONS.some(({ name, isData }) => isData === (nature === 'data') && matchesPattern(pattern, name)),
          text,
        ).to.equal(true)
      }
    })
  }

  it('is told of a list with where it stands, and nothing of what covers something', () => {
    const lists = { actions: ['apps/*', 'zz'], notActions: ['Apps/read'], dataActions: ['apps/read'] }
    expect(patternFaults(lists).map(({ field, message }) => `${field} ${message}`)).to.deep.equal([
      'actions.1 matches no action of the platform',
      'notActions.0 matches no action of the platform',
      'dataActions.0 matches no data action of the platform',
    ])
  })
})
