import { expect } from 'chai'
import { NetworkError, PlatformApiError } from '../client/index.ts'
import { describeFailure } from './describeFailure.ts'
import { notSignedIn } from './failure.ts'
import { columnsOf, renderRecords } from './output.ts'

describe('renderRecords and columnsOf', () => {
  it('show known fields first, then other plain fields', () => {
    const items = [
      { id: '1', color: 'red', name: 'a', status: 'Running', tags: { x: 'y' }, replicas: 1, empty: null },
      { id: '2', color: 'blue', name: 'long-name', status: 'Pending', tags: {}, replicas: 10, empty: null },
    ]
    expect(renderRecords(items, 'table').split('\n')).to.deep.equal([
      'NAME       STATUS   REPLICAS  COLOR',
      'a          Running  1         red',
      'long-name  Pending  10        blue',
      '',
    ])
  })

  const columns: [string, Record<string, unknown>[], string[]][] = [
    ['keep the id if there is no name', [{ id: '1', displayName: 'A' }], ['displayName', 'id']],
    ['leave out the id if there is a name', [{ id: '1', name: 'a' }], ['name']],
    [
      'leave out columns that are empty in every row',
      [
        { name: 'a', x: '' },
        { name: 'b', x: null },
      ],
      ['name'],
    ],
    ['keep a column that only one row has', [{ name: 'a' }, { name: 'b', x: 1 }], ['name', 'x']],
  ]
  it('show the role and scope of an assignment, with the end of a long scope', () => {
    const scope = '/boundaries/5d0f8a52-3c1e-4b7a-9f60-2e8c41d7b391/resourcegroups/reading'
    const member = {
      assignmentId: 'a',
      principalId: 'p',
      displayName: 'Ada',
      roleDefinitionName: 'Owner',
      isInherited: false,
      scope,
    }
    const items = [member, { ...member, scope: '/' }]
    expect(
      renderRecords(items, 'table')
        .split('\n')
        .map((line) => line.split(/ {2,}/).slice(0, 3)),
    ).to.deep.equal([
      ['DISPLAY NAME', 'ROLE DEFINITION NAME', 'SCOPE'],
      ['Ada', 'Owner', `…${scope.slice(-59)}`],
      ['Ada', 'Owner', '/'],
      [''],
    ])
    expect(columnsOf([{ principalId: 'p', scope: '/' }])).to.include('scope')
    expect(columnsOf([{ name: 'shop', scope: '/' }])).to.deep.equal(['name'])
  })

  it('show an id once although two fields contain it', () => {
    const items = ['1', '2'].map((id) => ({ id, deploymentId: id, phase: 'Ready', planId: 'p' }))
    expect(columnsOf(items)).to.deep.equal(['id', 'phase', 'planId'])
  })

  for (const [what, items, expected] of columns) it(what, () => expect(columnsOf(items)).to.deep.equal(expected))

  const texts: [string, unknown, 'table' | 'json' | 'yaml', string][] = [
    ['show one record as a line per field', { name: 'a', tags: { x: 1 } }, 'table', 'name  a\ntags  {"x":1}\n'],
    [
      'cut a long list in a record and say how long it is',
      { may: 'abcdefghijklm'.split('') },
      'table',
      'may  a, b, c, d, e, f, g, h, i, j, … (13; -o yaml shows all)\n',
    ],
    [
      'show a long object below its name as YAML',
      {
        name: 'a',
        spec: { image: 'registry.example.com/shop/web:1.2.3', ports: [{ port: 8080, name: 'http' }] },
        id: '1',
      },
      'table',
      'name  a\nspec\n  image: registry.example.com/shop/web:1.2.3\n  ports:\n    - port: 8080\n      name: http\nid    1\n',
    ],
    [
      'escape control characters in a long object',
      { spec: { one: 'a\u001b[2J'.repeat(20) } },
      'table',
      `spec\n  one: "${'a\\e[2J'.repeat(20)}"\n`,
    ],
    ['show an empty list as an empty table', [], 'table', ''],
    ['show an empty list as [] in JSON', [], 'json', '[]\n'],
    ['show an empty response as null in JSON', undefined, 'json', 'null\n'],
    ['show a list as YAML', [{ a: 1 }], 'yaml', '- a: 1\n'],
    ['replace control characters in a name', { name: 'a\u001b[2Jb\r\n\u202ec' }, 'table', 'name  a�[2Jb���c\n'],
  ]
  for (const [what, value, format, expected] of texts) {
    it(what, () => expect(renderRecords(value, format)).to.equal(expected))
  }
})

describe('describeFailure', () => {
  const body = {
    error: 'No.',
    code: 'BAD_REQUEST',
    correlationId: 'c-1',
    errors: [{ field: 'color', message: 'unknown' }],
  }
  const refused = (status: number, content: object) =>
    new PlatformApiError(status, new Headers(), JSON.stringify(content))
  const busy = new PlatformApiError(
    503,
    new Headers({ 'retry-after': '5' }),
    JSON.stringify({ error: 'Busy.', code: 'x' }),
  )
  const late = new PlatformApiError(
    409,
    new Headers({ 'retry-after': '5' }),
    JSON.stringify({ error: 'No.', code: 'x' }),
  )
  const full = { error: 'Full.', code: 'x' }
  const cases: [string, unknown, number, RegExp][] = [
    [
      'names the code, the fields and the correlation id of a refusal',
      refused(400, body),
      2,
      /No\. \(BAD_REQUEST, 400\)\n {2}color: unknown\nCorrelation id: c-1$/,
    ],
    ['reads problem details', refused(409, { title: 'x-y', detail: 'Busy.', code: 'x-y' }), 1, /^Busy\. \(x-y, 409\)$/],
    [
      'names the status of another response and advises a retry',
      refused(502, []),
      1,
      /answered 502\. \(HTTP_502, 502\)\nTry again; if it persists, tell your platform operator\.$/,
    ],
    [
      "shows only the platform's message for an upstream failure",
      refused(502, { error: 'The name git.example.com cannot be resolved.', code: 'upstream-failed' }),
      1,
      /^The name git\.example\.com cannot be resolved\. \(upstream-failed, 502\)$/,
    ],
    [
      'refers a 500 to the platform operator',
      refused(500, { error: 'Failed.', code: 'INTERNAL_ERROR', correlationId: 'c-1' }),
      1,
      /^Failed\. \(INTERNAL_ERROR, 500\)\nCorrelation id: c-1\nGive the correlation id to your platform operator\.$/,
    ],
    ['advises no retry for 409 despite Retry-After', late, 1, /^No\. \(x, 409\)$/],
    ['advises a retry for 503 with Retry-After', busy, 1, /Try again in 5 s\.$/],
    ['advises no retry for 503 without Retry-After', refused(503, { error: 'No.', code: 'x' }), 1, /^No\. \(x, 503\)$/],
    ['advises no retry for 429 of the platform without Retry-After', refused(429, full), 1, /^Full\. \(x, 429\)$/],
    ['advises a retry for 429 of a proxy', refused(429, []), 1, /Wait a moment, then try again\.$/],
    ['advises to sign in for 401', refused(401, { ...body, code: 'UNAUTHORIZED' }), 3, /freehold login/],
    [
      'returns exit code 4 without a response',
      new NetworkError('https://a.test/x', new Error('refused')),
      4,
      /https:\/\/a\.test: refused/,
    ],
    ['shows only the message of an error of the CLI', notSignedIn('Not signed in.'), 3, /^Not signed in\.$/],
    ['replaces control characters of a response', refused(400, { error: 'a\u001b[1Ab' }), 2, /^a�\[1Ab/],
  ]
  for (const [what, error, exitCode, text] of cases) {
    it(what, () => {
      const described = describeFailure(error)
      expect(described.exitCode).to.equal(exitCode)
      expect(described.lines.join('\n')).to.match(text)
    })
  }
})
