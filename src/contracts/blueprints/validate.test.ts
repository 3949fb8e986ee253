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

describe('the document of a template', () => {
  const refused: [why: string, content: string][] = [
    ['is no YAML', 'a: ['],
    ['holds two documents', 'a: 1\n---\na: 2'],
    ['holds nothing', ''],
    ['says one name twice', 'a: 1\na: 2'],
    ['refers to itself', '&a [*a]'],
    ['has a prototype', '__proto__: {x: 1}'],
    ['has a tag of its own', '!!js/function "x"'],
    ['nests very deeply', '['.repeat(500)],
    ['has very many aliases', `a: &a 1\nb: [${Array.from({ length: 200 }, () => '*a').join(', ')}]`],
    [
      'grows by its aliases',
      Array.from({ length: 20 }, (_, at) => `a${at}: &a${at} [${at === 0 ? '1' : `*a${at - 1}, *a${at - 1}`}]`).join(
        '\n',
      ),
    ],
    ['has very many names', Array.from({ length: 18_900 }, (_, at) => `E${at}: `).join('\n')],
    ['has very many values', `[${'a,'.repeat(5_000)}]`],
    ['has a very long name', `${'x'.repeat(1_025)}: 1`],
    ['is larger than 256 KiB', `a: ${'x'.repeat(300_000)}`],
    ['holds a control character', 'a: 1 # \u0007'],
    ['turns the direction of its text', 'a: 1 # \u202e'],
  ]
  for (const [why, content] of refused)
    it(`is refused if it ${why}`, () => expect(() => parseTemplateDocument(content)).to.throw(DocumentError))

  for (const [why, content, said] of [
    ['nests very deeply', '['.repeat(500), 'is nested deeper than 40 levels'],
    ['nests a level too deep', `${'['.repeat(41)}1${']'.repeat(41)}`, 'is nested deeper than 40 levels'],
    ['has a list as a name', '? [a]\n: 1', 'has a list or a map as a key'],
    ['holds a control character', 'a: "\u007f"', 'must have no control characters other than tabs and line breaks'],
  ] as const)
    it(`says what is wrong if it ${why}`, () =>
      expect(() => parseTemplateDocument(content))
        .to.throw(DocumentError)
        .with.property('message', said))

  it('says of nothing that it is an object', () => {
    for (const [, content] of refused)
      expect(() => parseTemplateDocument(content))
        .to.throw(DocumentError)
        .with.property('message')
        .that.does.not.match(/\[object|undefined|NaN/)
  })

  it('is not parsed to its end if it has too many values', () => {
    // What follows is no YAML: a parser that came so far would say so.
    expect(() => parseTemplateDocument(`[${'a,'.repeat(50_000)}}`)).to.throw(DocumentError, /5,000 names and values/)
  })

  it('has room for 5,000 names and values', () =>
    expect(parseTemplateDocument(`[${'a,'.repeat(4_999)}]`).value).to.have.length(4_999))

  it('is JSON as well', () => expect(parseTemplateDocument('{"a": [1, "x"]}').value).to.deep.equal({ a: [1, 'x'] }))

  it('says where each value stands, and of what is absent, where its parent does', () => {
    const { positionOf } = parseTemplateDocument('a: 1\nlist:\n  - name: x\n    "a/b": 2\n')
    expect(positionOf('/list/0/name')).to.deep.equal({ line: 3, column: 11 })
    expect(positionOf('/list/0/a~1b').line).to.equal(4)
    expect(positionOf('/list/0/none')).to.deep.equal(positionOf('/list/0'))
  })
})

describe('a template', () => {
  const cases: [sentence: string, template: object, ...problems: `${TemplateProblemCode} ${string}`[]][] = [
    ['needs no more than a component', {}],
    ['has a format', { format: 2 }, 'SpecInvalid /format'],
    ['has no other fields', { owner: 'me' }, 'UnknownField /owner'],
    ['has a version', { version: undefined }, 'MissingField /version'],
    ['has a slug that is no word of the interface', { slug: 'sources' }, 'SpecInvalid /slug'],
    [
      'makes things of known collections',
      { components: [{ ...DB, collection: 'nodes' }] },
      'UnknownCollection /components/0/collection',
    ],
    ['names each component once', { components: [DB, DB] }, 'DuplicateName /components/1/name'],
    [
      'names parameters that it has',
      { components: [{ ...DB, spec: { size: `\${parameters.size}` } }] },
      'UnknownParameter /components/0/spec/size',
    ],
    [
      'names components that it has',
      { components: [{ ...DB, dependsOn: ['web'], spec: { x: `\${components.web.name}` } }] },
      'UnknownComponent /components/0/dependsOn/0',
      'UnknownComponent /components/0/spec/x',
    ],
    [
      'names plain fields of components',
      { components: [DB, { ...DB, name: 'other', spec: { x: `\${components.db.apiKey}` } }] },
      'BadExpression /components/1/spec/x',
    ],
    ['has no circles', { components: [{ ...DB, spec: { x: `\${components.db.name}` } }] }, 'Cycle /components/0'],
    [
      'knows names beforehand',
      { components: [DB, { ...DB, name: 'b', resourceName: `\${components.db.id}` }] },
      'BadExpression /components/1/resourceName',
    ],
    [
      'has conditions that can be read',
      { components: [{ ...DB, when: 'size ==' }] },
      'BadExpression /components/0/when',
    ],
    [
      'shows no secret parameter',
      { parameters: [password], components: [{ ...DB, spec: { x: `\${parameters.password}` } }] },
      'SecretExposed /components/0/spec/x',
    ],
    [
      'may give one to the value of a secret',
      {
        parameters: [password],
        components: [{ ...DB, collection: 'secrets', spec: { value: `\${parameters.password}` } }],
      },
    ],
    [
      'shows no secret output',
      { outputs: [{ name: 'key', component: 'db', output: 'apiKey' }] },
      'SecretExposed /outputs/0',
    ],
    ['may refer to one', { outputs: [{ name: 'key', component: 'db', output: 'apiKey', secret: true }] }],
    [
      'has outputs that there are',
      { outputs: [{ name: 'key', component: 'db', output: 'nothing' }] },
      'SpecInvalid /outputs/0',
    ],
    ['has choices for a choice', { parameters: [{ name: 'size', type: 'choice' }] }, 'MissingField /parameters/0'],
    [
      'has defaults that fit',
      { parameters: [{ name: 'size', type: 'integer', default: 'x' }] },
      'SpecInvalid /parameters/0/default',
    ],
    [
      'has no patterns that may take long',
      { parameters: [{ name: 'size', type: 'string', pattern: '(a+)+' }] },
      'SpecInvalid /parameters/0/pattern',
    ],
    [
      'gives a parameter what its type has',
      { parameters: [{ name: 'size', type: 'boolean', minimum: 1 }] },
      'UnknownField /parameters/0/minimum',
    ],
  ]
  for (const [sentence, template, ...problems] of cases)
    it(sentence, () => expect(problemsOf(template)).to.deep.equal(problems))

  const others: [sentence: string, template: object, ...problems: `${TemplateProblemCode} ${string}`[]][] = [
    [
      'beside its head, what its components refer to',
      { version: 'x', components: [{ ...DB, dependsOn: ['web'], when: 'size ==' }] },
      'SpecInvalid /version',
      'UnknownComponent /components/0/dependsOn/0',
      'BadExpression /components/0/when',
    ],
    [
      'beside a component without a collection, the rest of it and the others',
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
      'and nothing that follows from it: what is named badly is named',
      {
        components: [
          { ...DB, name: 'My_DB' },
          { ...DB, name: 'b', spec: { x: { component: 'My_DB', output: 'apiKey' } } },
        ],
      },
      'SpecInvalid /components/0/name',
    ],
    [
      'and nothing that follows from it: what has no name may be what is meant',
      {
        components: [
          { ...DB, name: undefined },
          { ...DB, name: 'b', dependsOn: ['db'] },
        ],
      },
      'MissingField /components/0/name',
    ],
    [
      'and nothing that follows from it: a parameter is judged as a whole',
      {
        parameters: [{ name: 'size', type: 'chioce', choices: ['a'] }],
        components: [{ ...DB, when: `\${parameters.size} == 'a'` }],
      },
      'SpecInvalid /parameters/0/type',
    ],
    [
      'and nothing that follows from it: lists that are none',
      { parameters: 'none', components: 'db', outputs: [{ name: 'a', value: `\${components.db.host}` }] },
      'SpecInvalid /parameters',
      'SpecInvalid /components',
    ],
  ]
  for (const [sentence, template, ...problems] of others)
    it(`says all that is wrong with its shape ${sentence}`, () =>
      expect(problemsOf(template)).to.have.members(problems))

  it('names what is near to what it does not know', () => {
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

  it('says line and column of what is wrong', () => {
    const content = `${dump(HEAD)}components:\n  - name: db\n    collection: nodes\n    resourceName: db\n`
    const [problem] = readTemplate(content, CATALOGUE).problems
    expect(problem).to.include({ line: 7, column: 17 })
    expect(readTemplate('a: [', CATALOGUE).problems[0]).to.include({ code: 'Syntax', line: 1 })
  })

  it('is sorted by what depends on what', () => {
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

describe('slugs and versions', () => {
  const slugs: [slug: string, isTaken: boolean][] = [
    ['web-with-database', true],
    ['Web', false],
    ['config', false],
    ['7b0c5d6e-1f2a-4b3c-8d4e-5f6a7b8c9d0e', false],
  ]
  for (const [slug, isTaken] of slugs)
    it(`${slug} is ${isTaken ? 'a' : 'no'} slug`, () => expect(slugRefusal(slug) === undefined).to.equal(isTaken))

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
    it(`${later} comes after ${earlier}`, () => {
      expect(isLaterTemplateVersion(later, earlier)).to.equal(true)
      expect(isLaterTemplateVersion(earlier, later)).to.equal(false)
      expect(isLaterTemplateVersion(later, later)).to.equal(false)
      for (const version of [later, earlier]) expect(version).to.match(TEMPLATE_VERSION_PATTERN)
    })

  it('says where the first of thousands of problems in a long document are', () => {
    const keys = Array.from({ length: 2_000 }, (_, at) => `unknown${at}: 1`).join('\n')
    const { problems } = readTemplate(`format: 1\n${'\n'.repeat(150_000)}${keys}\n`, new Map())
    expect(problems.length).to.be.at.most(50)
    const unknown = problems.find(({ path }) => path === '/unknown7')
    expect([unknown?.line, unknown?.column]).to.deep.equal([150_009, 11])
  })
})
