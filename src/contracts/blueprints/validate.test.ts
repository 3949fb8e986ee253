import { expect } from 'chai'
import { dump } from 'js-yaml'
import { runUnsliced } from '../../core/slices.ts'
import { DocumentError, parseTemplateDocument } from './document.ts'
import { isLaterTemplateVersion, slugRefusal, TEMPLATE_VERSION_PATTERN, type TemplateProblemCode } from './template.ts'
import { type Catalogue, parseTemplateSliced } from './validate.ts'

const CATALOGUE: Catalogue = new Map([
  ['vectorclusters', { fields: new Set(['id', 'name', 'restEndpoint']) }],
  ['apps', { fields: new Set(['id', 'name', 'publicUrl']) }],
  ['secrets', { fields: new Set(['id', 'name']) }],
])
const HEAD = { format: 1, slug: 'shop', name: 'Shop', version: '1.0.0' }
const DB = { name: 'db', collection: 'vectorclusters', resourceName: 'db' }
const password = { name: 'password', type: 'generated' }

const readTemplate = (content: string, catalogue: Catalogue) => runUnsliced(parseTemplateSliced(content, catalogue))
const read = (template: object) => readTemplate(dump({ ...HEAD, components: [DB], ...template }), CATALOGUE)
const problemsOf = (template: object) => read(template).problems.map(({ code, path }) => `${code} ${path}`)

describe('parseTemplateDocument', () => {
  const refused: [why: string, content: string][] = [
    ['is not YAML', 'a: ['],
    ['contains two documents', 'a: 1\n---\na: 2'],
    ['is empty', ''],
    ['repeats a key', 'a: 1\na: 2'],
    ['refers to itself', '&a [*a]'],
    ['has the key __proto__', '__proto__: {x: 1}'],
    ['has a custom tag', '!!js/function "x"'],
    ['is nested 500 levels deep', '['.repeat(500)],
    ['has 200 aliases', `a: &a 1\nb: [${Array.from({ length: 200 }, () => '*a').join(', ')}]`],
    [
      'expands through aliases',
      Array.from({ length: 20 }, (_, at) => `a${at}: &a${at} [${at === 0 ? '1' : `*a${at - 1}, *a${at - 1}`}]`).join(
        '\n',
      ),
    ],
    ['has 18,900 keys', Array.from({ length: 18_900 }, (_, at) => `E${at}: `).join('\n')],
    ['has more than 5,000 values', `[${'a,'.repeat(5_000)}]`],
    ['has a key of more than 1,024 characters', `${'x'.repeat(1_025)}: 1`],
    ['is larger than 256 KiB', `a: ${'x'.repeat(300_000)}`],
    ['contains a control character', 'a: 1 # \u0007'],
    ['contains a bidirectional control character', 'a: 1 # \u202e'],
    ['escapes half a surrogate pair in a value', String.raw`a: "\ud800"`],
    ['escapes half a surrogate pair in a key', String.raw`"\udc00": 1`],
    ['escapes an invisible character in a key', String.raw`"a\u202eb": 1`],
  ]
  for (const [why, content] of refused)
    it(`rejects a document that ${why}`, () => expect(() => parseTemplateDocument(content)).to.throw(DocumentError))

  for (const [why, content, message] of [
    ['nested 500 levels deep', '['.repeat(500), 'is nested deeper than 40 levels'],
    ['nested 41 levels deep', `${'['.repeat(41)}1${']'.repeat(41)}`, 'is nested deeper than 40 levels'],
    ['with a list as key', '? [a]\n: 1', 'has a list or a map as a key'],
    ['with a control character', 'a: "\u007f"', 'must have no control characters other than tabs and line breaks'],
  ] as const)
    it(`explains what is wrong in a document ${why}`, () =>
      expect(() => parseTemplateDocument(content))
        .to.throw(DocumentError)
        .with.property('message', message))

  it('puts no stringified object into its messages', () => {
    for (const [, content] of refused)
      expect(() => parseTemplateDocument(content))
        .to.throw(DocumentError)
        .with.property('message')
        .that.does.not.match(/\[object|undefined|NaN/)
  })

  it('stops at too many values', () => {
    // The rest is not YAML, which a parser that reached it would report.
    expect(() => parseTemplateDocument(`[${'a,'.repeat(50_000)}}`)).to.throw(DocumentError, /5,000 names and values/)
  })

  it('accepts 5,000 keys and values', () =>
    expect(parseTemplateDocument(`[${'a,'.repeat(4_999)}]`).value).to.have.length(4_999))

  it('accepts JSON', () => expect(parseTemplateDocument('{"a": [1, "x"]}').value).to.deep.equal({ a: [1, 'x'] }))

  it('returns the position of each value, and of its parent for a missing one', () => {
    const { positionOf } = parseTemplateDocument('a: 1\nlist:\n  - name: x\n    "a/b": 2\n')
    expect(positionOf('/list/0/name')).to.deep.equal({ line: 3, column: 11 })
    expect(positionOf('/list/0/a~1b').line).to.equal(4)
    expect(positionOf('/list/0/none')).to.deep.equal(positionOf('/list/0'))
  })
})

describe('parseTemplateSliced', () => {
  const cases: [sentence: string, template: object, ...problems: `${TemplateProblemCode} ${string}`[]][] = [
    ['accepts a template with one component', {}],
    ['rejects another format', { format: 2 }, 'SpecInvalid /format'],
    ['rejects an unknown field', { owner: 'me' }, 'UnknownField /owner'],
    ['rejects a missing version', { version: undefined }, 'MissingField /version'],
    ['rejects a slug that is a path of the API', { slug: 'sources' }, 'SpecInvalid /slug'],
    [
      'rejects an unknown collection',
      { components: [{ ...DB, collection: 'nodes' }] },
      'UnknownCollection /components/0/collection',
    ],
    ['rejects two components with the same name', { components: [DB, DB] }, 'DuplicateName /components/1/name'],
    [
      'rejects an unknown parameter',
      { components: [{ ...DB, spec: { size: `\${parameters.size}` } }] },
      'UnknownParameter /components/0/spec/size',
    ],
    [
      'rejects unknown components',
      { components: [{ ...DB, dependsOn: ['web'], spec: { x: `\${components.web.name}` } }] },
      'UnknownComponent /components/0/dependsOn/0',
      'UnknownComponent /components/0/spec/x',
    ],
    [
      'rejects a secret field of a component',
      { components: [DB, { ...DB, name: 'other', spec: { x: `\${components.db.apiKey}` } }] },
      'BadExpression /components/1/spec/x',
    ],
    [
      'rejects a component that refers to itself',
      { components: [{ ...DB, spec: { x: `\${components.db.name}` } }] },
      'Cycle /components/0',
    ],
    [
      'rejects a resource name that depends on a later value',
      { components: [DB, { ...DB, name: 'b', resourceName: `\${components.db.id}` }] },
      'BadExpression /components/1/resourceName',
    ],
    [
      'rejects a condition that cannot be parsed',
      { components: [{ ...DB, when: 'size ==' }] },
      'BadExpression /components/0/when',
    ],
    [
      'rejects a secret parameter in a plain field',
      { parameters: [password], components: [{ ...DB, spec: { x: `\${parameters.password}` } }] },
      'SecretExposed /components/0/spec/x',
    ],
    [
      'accepts a secret parameter as the value of a secret',
      {
        parameters: [password],
        components: [{ ...DB, collection: 'secrets', spec: { value: `\${parameters.password}` } }],
      },
    ],
    [
      'rejects a secret output that is not marked as secret',
      { outputs: [{ name: 'key', component: 'db', output: 'apiKey' }] },
      'SecretExposed /outputs/0',
    ],
    [
      'accepts a secret output that is marked as secret',
      { outputs: [{ name: 'key', component: 'db', output: 'apiKey', secret: true }] },
    ],
    [
      'rejects an unknown output',
      { outputs: [{ name: 'key', component: 'db', output: 'nothing' }] },
      'SpecInvalid /outputs/0',
    ],
    [
      'rejects invisible characters in texts for people',
      {
        name: 'Sea\u200brch',
        description: 'For\u200beverybody',
        parameters: [
          { name: 'size', type: 'choice', title: 'Si\u200bze', description: '\u200b', choices: ['a', 'a\u200b'] },
        ],
      },
      'SpecInvalid /name',
      'SpecInvalid /description',
      'SpecInvalid /parameters/0/title',
      'SpecInvalid /parameters/0/description',
      'SpecInvalid /parameters/0/choices/1',
    ],
    [
      'rejects bounds that no value is between',
      {
        parameters: [
          { name: 'size', type: 'integer', minimum: 3, maximum: 2 },
          { name: 'word', type: 'string', minLength: 3, maxLength: 2 },
          { name: 'same', type: 'number', minimum: 2, maximum: 2 },
        ],
      },
      'SpecInvalid /parameters/0/minimum',
      'SpecInvalid /parameters/1/minLength',
    ],
    [
      'rejects a choice without choices',
      { parameters: [{ name: 'size', type: 'choice' }] },
      'MissingField /parameters/0',
    ],
    [
      'rejects a default of another type',
      { parameters: [{ name: 'size', type: 'integer', default: 'x' }] },
      'SpecInvalid /parameters/0/default',
    ],
    [
      'rejects a pattern that may backtrack exponentially',
      { parameters: [{ name: 'size', type: 'string', pattern: '(a+)+' }] },
      'SpecInvalid /parameters/0/pattern',
    ],
    [
      'rejects a field of another parameter type',
      { parameters: [{ name: 'size', type: 'boolean', minimum: 1 }] },
      'UnknownField /parameters/0/minimum',
    ],
  ]
  for (const [sentence, template, ...problems] of cases)
    it(sentence, () => expect(problemsOf(template)).to.deep.equal(problems))

  it('repeats no invisible characters in its messages', () => {
    const hidden = 'a\u200bb\u061c'
    const components = [{ ...DB, when: `${hidden} ==`, collection: hidden, spec: { x: `\${parameters.${hidden}}` } }]
    const messages = read({ components }).problems.map(({ message }) => message)
    expect(messages).to.have.length.above(2)
    for (const message of messages) expect(message).to.match(/^\P{C}+$/u)
  })

  const others: [sentence: string, template: object, ...problems: `${TemplateProblemCode} ${string}`[]][] = [
    [
      'of the head and of references in components',
      { version: 'x', components: [{ ...DB, dependsOn: ['web'], when: 'size ==' }] },
      'SpecInvalid /version',
      'UnknownComponent /components/0/dependsOn/0',
      'BadExpression /components/0/when',
    ],
    [
      'of a component without a collection, and of its other fields',
      {
        components: [
          { ...DB, collection: undefined, colection: 'apps', spec: { x: `\${parameters.y}` } },
          { ...DB, name: 'b' },
        ],
      },
      'MissingField /components/0/collection',
      'UnknownField /components/0/colection',
      'UnknownParameter /components/0/spec/x',
    ],
    [
      'but none of references to a component with an invalid name',
      {
        components: [
          { ...DB, name: 'My_DB' },
          { ...DB, name: 'b', spec: { x: { component: 'My_DB', output: 'apiKey' } } },
        ],
      },
      'SpecInvalid /components/0/name',
    ],
    [
      'but none of references that may mean a component without a name',
      {
        components: [
          { ...DB, name: undefined },
          { ...DB, name: 'b', dependsOn: ['db'] },
        ],
      },
      'MissingField /components/0/name',
    ],
    [
      'but none of conditions on a parameter with an invalid type',
      {
        parameters: [{ name: 'size', type: 'chioce', choices: ['a'] }],
        components: [{ ...DB, when: `\${parameters.size} == 'a'` }],
      },
      'SpecInvalid /parameters/0/type',
    ],
    [
      'but none of references into lists that are not lists',
      { parameters: 'none', components: 'db', outputs: [{ name: 'a', value: `\${components.db.host}` }] },
      'SpecInvalid /parameters',
      'SpecInvalid /components',
    ],
  ]
  for (const [sentence, template, ...problems] of others)
    it(`reports all problems ${sentence}`, () => expect(problemsOf(template)).to.have.members(problems))

  it('suggests the nearest known name', () => {
    const meant = (template: object) => read(template).problems.map(({ message }) => /"(\w+)"\?$/.exec(message)?.[1])
    const size = { name: 'size', type: 'string' }
    const spec = (text: string) => ({ parameters: [size], components: [{ ...DB, spec: { x: text } }] })
    expect(meant(spec(`\${parameters.sizes}`))).to.deep.equal(['size'])
    expect(meant(spec(`\${parameter.size}`))).to.deep.equal(['parameters'])
    expect(meant({ components: [{ ...DB, collection: 'vectorcluster' }] })).to.deep.equal(['vectorclusters'])
    expect(meant({ parameters: [{ name: 'size', type: 'strng' }] })).to.deep.equal(['string'])
    const web = (text: string) => ({ components: [DB, { ...DB, name: 'web', spec: { x: text } }] })
    expect(meant(web(`\${components.bd.name}`))).to.deep.equal([undefined])
    expect(meant(web(`\${components.db.restEndpont}`))).to.deep.equal(['restEndpoint'])
    expect(meant({ outputs: [{ name: 'key', component: 'db', output: 'apikey', secret: true }] })).to.deep.equal([
      'apiKey',
    ])
  })

  it('reports the line and column of a problem', () => {
    const content = `${dump(HEAD)}components:\n  - name: db\n    collection: nodes\n    resourceName: db\n`
    const [problem] = readTemplate(content, CATALOGUE).problems
    expect(problem).to.include({ line: 7, column: 17 })
    expect(readTemplate('a: [', CATALOGUE).problems[0]).to.include({ code: 'Syntax', line: 1 })
  })

  it('orders components by their dependencies', () => {
    const web = {
      name: 'web',
      collection: 'apps',
      resourceName: 'web',
      spec: { env: [{ name: 'A', output: { component: 'db', output: 'restEndpoint' } }] },
    }
    const { order, dependencies } = read({ components: [{ ...DB, name: 'late', dependsOn: ['web'] }, web, DB] })
    expect(order).to.deep.equal(['db', 'web', 'late'])
    expect([...(dependencies.get('web') ?? [])]).to.deep.equal(['db'])
  })
})

describe('slugRefusal, isLaterTemplateVersion and positions of problems', () => {
  const slugs: [slug: string, isTaken: boolean][] = [
    ['web-with-database', true],
    ['Web', false],
    ['config', false],
    ['7b0c5d6e-1f2a-4b3c-8d4e-5f6a7b8c9d0e', false],
  ]
  for (const [slug, isTaken] of slugs)
    it(`${isTaken ? 'accept' : 'reject'} the slug ${slug}`, () =>
      expect(slugRefusal(slug) === undefined).to.equal(isTaken))

  const versions: [later: string, earlier: string][] = [
    ['1.0.1', '1.0.0'],
    ['1.10.0', '1.9.9'],
    ['1.0.0', '1.0.0-rc.1'],
    ['1.0.0-rc.10', '1.0.0-rc.9'],
    ['1.0.0-rc.1.1', '1.0.0-rc.1'],
    ['1.0.0-beta', '1.0.0-2'],
    ['1.0.0-10', '1.0.0-09'],
    ['1.0.1+a-b', '1.0.0+z'],
    ['1.0.0+build.5', '1.0.0-rc.1+build.6'],
  ]
  for (const [later, earlier] of versions)
    it(`order ${later} after ${earlier}`, () => {
      expect(isLaterTemplateVersion(later, earlier)).to.equal(true)
      expect(isLaterTemplateVersion(earlier, later)).to.equal(false)
      expect(isLaterTemplateVersion(later, later)).to.equal(false)
      for (const version of [later, earlier]) expect(version).to.match(TEMPLATE_VERSION_PATTERN)
    })

  it('report the position of the first 50 of 2,000 problems after 150,000 lines', () => {
    const keys = Array.from({ length: 2_000 }, (_, at) => `unknown${at}: 1`).join('\n')
    const { problems } = readTemplate(`format: 1\n${'\n'.repeat(150_000)}${keys}\n`, new Map())
    expect(problems.length).to.be.at.most(50)
    const unknown = problems.find(({ path }) => path === '/unknown7')
    expect([unknown?.line, unknown?.column]).to.deep.equal([150_009, 11])
  })
})
