import { expect } from 'chai'
import { NetworkError, PlatformApiError } from '../client/index.ts'
import { describeFailure } from './describeFailure.ts'
import { notSignedIn } from './failure.ts'
import { columnsOf, renderRecords } from './output.ts'

describe('output', () => {
  it('is a table with the known fields first and plain ones behind', () => {
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
    ['keeps the id where it is what a thing is called by', [{ id: '1', displayName: 'A' }], ['displayName', 'id']],
    ['leaves it out where there is a name', [{ id: '1', name: 'a' }], ['name']],
    [
      'leaves out what is empty in every row',
      [
        { name: 'a', x: '' },
        { name: 'b', x: null },
      ],
      ['name'],
    ],
    ['shows what only one row has', [{ name: 'a' }, { name: 'b', x: 1 }], ['name', 'x']],
  ]
  it('says of a grant who has which role where, with the end of a long scope', () => {
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

  it('shows an id once, whatever else it is called', () => {
    const items = ['1', '2'].map((id) => ({ id, deploymentId: id, phase: 'Ready', planId: 'p' }))
    expect(columnsOf(items)).to.deep.equal(['id', 'phase', 'planId'])
  })

  for (const [what, items, expected] of columns) it(what, () => expect(columnsOf(items)).to.deep.equal(expected))

  const texts: [string, unknown, 'table' | 'json' | 'yaml', string][] = [
    ['one record is a line per field', { name: 'a', tags: { x: 1 } }, 'table', 'name  a\ntags  {"x":1}\n'],
    [
      'a long list in a record says how long it is',
      { may: 'abcdefghijklm'.split('') },
      'table',
      'may  a, b, c, d, e, f, g, h, i, j, … (13; -o yaml shows all)\n',
    ],
    [
      'what is long in a record stands below its name, one thing a line',
      {
        name: 'a',
        spec: { image: 'registry.example.com/shop/web:1.2.3', ports: [{ port: 8080, name: 'http' }] },
        id: '1',
      },
      'table',
      'name  a\nspec\n  image: registry.example.com/shop/web:1.2.3\n  ports:\n    - port: 8080\n      name: http\nid    1\n',
    ],
    [
      'no order to the terminal hides in what is long',
      { spec: { one: 'a\u001b[2J'.repeat(20) } },
      'table',
      `spec\n  one: "${'a\\e[2J'.repeat(20)}"\n`,
    ],
    ['an empty list is nothing in a table', [], 'table', ''],
    ['an empty list is a list in json', [], 'json', '[]\n'],
    ['an answer without a body is null in json', undefined, 'json', 'null\n'],
    ['yaml is yaml', [{ a: 1 }], 'yaml', '- a: 1\n'],
    [
      'control characters of a name never reach the terminal',
      { name: 'a\u001b[2Jb\r\n\u202ec' },
      'table',
      'name  a�[2Jb���c\n',
    ],
  ]
  for (const [what, value, format, expected] of texts) {
    it(what, () => expect(renderRecords(value, format)).to.equal(expected))
  }
})

describe('failures', () => {
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
  const cases: [string, unknown, number, RegExp][] = [
    [
      'a refusal names code, fields and correlation id',
      refused(400, body),
      2,
      /No\. \(BAD_REQUEST, 400\)\n {2}color: unknown\nCorrelation id: c-1$/,
    ],
    [
      'problem details are read as well',
      refused(409, { title: 'x-y', detail: 'Busy.', code: 'x-y' }),
      1,
      /^Busy\. \(x-y, 409\)$/,
    ],
    [
      'what is not an answer of ours says its status, and may come to pass',
      refused(502, []),
      1,
      /answered 502\. \(HTTP_502, 502\)\nTry again; if it persists, tell your platform operator\.$/,
    ],
    [
      'a cause of ours that is named stands alone',
      refused(502, { error: 'The name git.example.com cannot be resolved.', code: 'upstream-failed' }),
      1,
      /^The name git\.example\.com cannot be resolved\. \(upstream-failed, 502\)$/,
    ],
    [
      'a failure of the platform is for its operator',
      refused(500, { error: 'Failed.', code: 'INTERNAL_ERROR', correlationId: 'c-1' }),
      1,
      /^Failed\. \(INTERNAL_ERROR, 500\)\nCorrelation id: c-1\nGive the correlation id to your platform operator\.$/,
    ],
    ['a refusal is not repeated, whatever else it says', late, 1, /^No\. \(x, 409\)$/],
    ['waiting is advised if the platform says how long', busy, 1, /Try again in 5 s\.$/],
    ['waiting is not advised if it does not help', refused(503, { error: 'No.', code: 'x' }), 1, /^No\. \(x, 503\)$/],
    ['401 is a missing sign-in', refused(401, { ...body, code: 'UNAUTHORIZED' }), 3, /freehold login/],
    [
      'no answer is trouble of the network',
      new NetworkError('https://a.test/x', new Error('refused')),
      4,
      /https:\/\/a\.test: refused/,
    ],
    ['a sentence of ours stands alone', notSignedIn('Not signed in.'), 3, /^Not signed in\.$/],
    ['text from outside cannot move the cursor', refused(400, { error: 'a\u001b[1Ab' }), 2, /^a�\[1Ab/],
  ]
  for (const [what, error, exitCode, text] of cases) {
    it(what, () => {
      const described = describeFailure(error)
      expect(described.exitCode).to.equal(exitCode)
      expect(described.lines.join('\n')).to.match(text)
    })
  }
})
