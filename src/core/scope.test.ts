import { expect } from 'chai'
import { formatScope, isRestOfScope, parseScope, SCOPE_PATTERN, type Scope, scopeContains } from './scope.ts'

const B1 = '6f1c3a52-0f0e-4d67-9b2e-3c1f2f8f7a1b'
const B2 = '6f1c3a52-0f0e-4d67-9b2e-3c1f2f8f7a1c'
const BOUNDARY = `/boundaries/${B1}`
const GROUP = `${BOUNDARY}/resourcegroups/shop`
const RESOURCE = `${GROUP}/resources/vectorclusters/index`

const LEVELS = ['root', 'boundary', 'resourceGroup', 'resource']

const scope = (text: string): Scope => {
  const parsed = parseScope(text)
  if (parsed === undefined) throw new Error(`the test names an invalid scope: ${text}`)
  return parsed
}

describe('parseScope', () => {
  const valid: [string, string, number][] = [
    ['the root', '/', 0],
    ['a boundary', BOUNDARY, 1],
    ['a resource group', GROUP, 2],
    ['a resource', RESOURCE, 3],
    ['a group of one character', `${BOUNDARY}/resourcegroups/a`, 2],
    ['a group of 52 characters', `${BOUNDARY}/resourcegroups/${'a'.repeat(52)}`, 2],
    [
      'a resource called resources in a group called resourcegroups',
      `${BOUNDARY}/resourcegroups/resourcegroups/resources/resources/resources`,
      3,
    ],
    [
      'the longest possible scope',
      `${BOUNDARY}/resourcegroups/${'a'.repeat(52)}/resources/${'c'.repeat(63)}/${'n'.repeat(52)}`,
      3,
    ],
  ]
  for (const [sentence, text, depth] of valid) {
    it(`parses ${sentence} and formats it unchanged`, () => {
      expect(scope(text).level).to.equal(LEVELS[depth])
      expect(formatScope(scope(text))).to.equal(text)
      expect(text).to.match(new RegExp(SCOPE_PATTERN))
      if (depth > 0) expect(isRestOfScope(text, 0, 0)).to.equal(true)
      if (depth > 1) expect(isRestOfScope(text, 1, BOUNDARY.length)).to.equal(true)
      if (depth > 2) expect(isRestOfScope(text, 2, text.indexOf('/resources/'))).to.equal(true)
    })
  }

  const hostile: [string, unknown][] = [
    ['an empty string', ''],
    ['a space', ' '],
    ['two slashes', '//'],
    ['no leading slash', `boundaries/${B1}`],
    ['a leading space', ` ${BOUNDARY}`],
    ['a trailing space', `${BOUNDARY} `],
    ['a trailing slash at a boundary', `${BOUNDARY}/`],
    ['a trailing slash at a group', `${GROUP}/`],
    ['a trailing slash at a resource', `${RESOURCE}/`],
    ['a trailing newline', `${BOUNDARY}\n`],
    ['a second line', `${BOUNDARY}\n${BOUNDARY}`],
    ['a NUL at the end', `${BOUNDARY}\0`],
    ['a tab inside', `${BOUNDARY}\t/resourcegroups/shop`],
    ['a doubled leading slash', `/${BOUNDARY}`],
    ['a doubled slash inside', `/boundaries//${B1}`],
    ['an upper-case uuid', `/boundaries/${B1.toUpperCase()}`],
    ['one upper-case letter in the uuid', `/boundaries/${B1.replace('f', 'F')}`],
    ['an upper-case keyword', `/Boundaries/${B1}`],
    ['an upper-case group', `${BOUNDARY}/resourcegroups/Shop`],
    ['camel case in resourceGroups', `${BOUNDARY}/resourceGroups/shop`],
    ['an upper-case collection', `${GROUP}/resources/vectorClusters/index`],
    ['an encoded slash in lower case', `${BOUNDARY}%2fresourcegroups%2fshop`],
    ['an encoded slash in upper case', `${BOUNDARY}%2Fresourcegroups/shop`],
    ['a doubly encoded slash', `${BOUNDARY}%252fresourcegroups/shop`],
    ['an encoded letter', `/%62oundaries/${B1}`],
    ['an encoded dot segment', `${BOUNDARY}/%2e%2e`],
    ['a dot segment', `${BOUNDARY}/./resourcegroups/shop`],
    ['a parent segment', `${BOUNDARY}/../${B2}`],
    ['a parent segment as group', `${BOUNDARY}/resourcegroups/..`],
    ['a backslash for a slash', `\\boundaries\\${B1}`],
    ['a fraction slash', `/boundaries\u2044${B1}`],
    ['a full-width slash', `\uff0fboundaries/${B1}`],
    ['a full-width letter in the group', `${BOUNDARY}/resourcegroups/\uff53hop`],
    ['a Cyrillic a in boundaries', `/bound\u0430ries/${B1}`],
    ['a zero-width space in the uuid', `/boundaries/${B1.slice(0, 8)}\u200b${B1.slice(8)}`],
    ['a byte order mark at the beginning', `\ufeff${BOUNDARY}`],
    ['a dotless i', `/boundar\u0131es/${B1}`],
    ['a boundary without a uuid', '/boundaries'],
    ['a boundary with an empty uuid', '/boundaries/'],
    ['a name instead of a uuid', '/boundaries/b1'],
    ['a star instead of a uuid', '/boundaries/*'],
    ['a uuid without its last character', `/boundaries/${B1.slice(0, -1)}`],
    ['a uuid with an additional character', `/boundaries/${B1}0`],
    ['a uuid in braces', `/boundaries/{${B1}}`],
    ['a uuid without hyphens', `/boundaries/${B1.replaceAll('-', '')}`],
    ['a uuid as a URN', `/boundaries/urn:uuid:${B1}`],
    ['a uuid with a letter beyond f', `/boundaries/${B1.replace('f', 'g')}`],
    ['a group without a name', `${BOUNDARY}/resourcegroups`],
    ['a group with an empty name', `${BOUNDARY}/resourcegroups/`],
    ['a group of 53 characters', `${BOUNDARY}/resourcegroups/${'a'.repeat(53)}`],
    ['a group that begins with a hyphen', `${BOUNDARY}/resourcegroups/-a`],
    ['a group that ends with a hyphen', `${BOUNDARY}/resourcegroups/a-`],
    ['a group with an underscore', `${BOUNDARY}/resourcegroups/a_b`],
    ['a group with a dot', `${BOUNDARY}/resourcegroups/a.b`],
    ['resources without a group', `${BOUNDARY}/resources/vectorclusters/index`],
    ['resources without a collection', `${GROUP}/resources`],
    ['a collection without a name', `${GROUP}/resources/vectorclusters`],
    ['an empty collection', `${GROUP}/resources//index`],
    ['a collection that begins with a digit', `${GROUP}/resources/1clusters/index`],
    ['a segment below a resource', `${RESOURCE}/apikey`],
    ['a second group', `${GROUP}/resourcegroups/other`],
    ['a query', `${BOUNDARY}?x=1`],
    ['a fragment', `${BOUNDARY}#x`],
    ['a matrix parameter', `${BOUNDARY};v=1`],
    ['a whole URL', `https://example.org${BOUNDARY}`],
    ['the path of another cloud', `/subscriptions/${B1}`],
    ['a mebibyte of slashes', '/'.repeat(1_048_576)],
    ['a mebibyte of group name', `${BOUNDARY}/resourcegroups/${'a'.repeat(1_048_576)}`],
    ['undefined', undefined],
    ['null', null],
    ['a number', 1],
    ['an array whose string is a scope', [BOUNDARY]],
    ['an array whose string is the root', ['/']],
    ['an object whose string is a scope', { toString: () => BOUNDARY }],
  ]
  for (const [sentence, text] of hostile) {
    it(`rejects ${sentence}`, () => {
      expect(parseScope(text as string)).to.equal(undefined)
      if (typeof text !== 'string') return
      expect(new RegExp(SCOPE_PATTERN).test(text)).to.equal(false)
      expect(isRestOfScope(text, 0, 0)).to.equal(false)
      if (text.startsWith(BOUNDARY)) expect(isRestOfScope(text, 1, BOUNDARY.length)).to.equal(false)
      if (text.startsWith(GROUP)) expect(isRestOfScope(text, 2, GROUP.length)).to.equal(false)
    })
  }

  it('has at least 40 invalid forms to reject', () => {
    expect(hostile.length).to.be.at.least(40)
  })
})

describe('scopeContains', () => {
  const cases: [string, string, string, boolean][] = [
    ['the root contains itself', '/', '/', true],
    ['the root contains a boundary', '/', BOUNDARY, true],
    ['the root contains a resource', '/', RESOURCE, true],
    ['a boundary does not contain the root', BOUNDARY, '/', false],
    ['a boundary contains itself', BOUNDARY, BOUNDARY, true],
    ['a boundary contains its group', BOUNDARY, GROUP, true],
    ['a boundary contains its resource', BOUNDARY, RESOURCE, true],
    ['a boundary does not contain another boundary', BOUNDARY, `/boundaries/${B2}`, false],
    [
      'a boundary does not contain a group of another boundary',
      BOUNDARY,
      `/boundaries/${B2}/resourcegroups/shop`,
      false,
    ],
    ['a group does not contain its boundary', GROUP, BOUNDARY, false],
    ['a group contains its resource', GROUP, RESOURCE, true],
    ['group b1 does not contain group b10', `${BOUNDARY}/resourcegroups/b1`, `${BOUNDARY}/resourcegroups/b10`, false],
    ['group b10 does not contain group b1', `${BOUNDARY}/resourcegroups/b10`, `${BOUNDARY}/resourcegroups/b1`, false],
    [
      'group b1 does not contain a resource of group b10',
      `${BOUNDARY}/resourcegroups/b1`,
      `${BOUNDARY}/resourcegroups/b10/resources/apps/a`,
      false,
    ],
    ['group b does not contain group b-1', `${BOUNDARY}/resourcegroups/b`, `${BOUNDARY}/resourcegroups/b-1`, false],
    ['a group does not contain the group of the same name in another boundary', GROUP, GROUP.replace(B1, B2), false],
    ['resource a1 does not contain resource a10', `${GROUP}/resources/apps/a1`, `${GROUP}/resources/apps/a10`, false],
    [
      'an app does not contain the job of the same name',
      `${GROUP}/resources/apps/a`,
      `${GROUP}/resources/jobs/a`,
      false,
    ],
    ['collection app does not contain collection apps', `${GROUP}/resources/app/a`, `${GROUP}/resources/apps/a`, false],
    ['a resource does not contain its group', RESOURCE, GROUP, false],
    [
      'a resource does not contain the resource of the same name in another group',
      RESOURCE,
      RESOURCE.replace('shop', 'shop2'),
      false,
    ],
  ]
  for (const [sentence, outer, inner, expected] of cases) {
    it(sentence, () => {
      expect(scopeContains(scope(outer), scope(inner))).to.equal(expected)
    })
  }

  for (const ancestor of ['/', BOUNDARY, GROUP]) {
    it(`${ancestor} contains the resource below it`, () => {
      expect(scopeContains(scope(ancestor), scope(RESOURCE))).to.equal(true)
    })
  }
})

describe('formatScope', () => {
  it('rejects parts that would add segments or change the level', () => {
    expect(() => formatScope({ level: 'boundary', boundaryId: `${B1}/resourcegroups/shop` })).to.throw(RangeError)
    expect(() => formatScope({ level: 'resourceGroup', boundaryId: B1, resourceGroup: '../x' })).to.throw(RangeError)
    expect(() => formatScope({ level: 'boundary', boundaryId: '' })).to.throw(RangeError)
  })
})
