import { expect } from 'chai'
import { maskedParameters, parseParameter, parseParameters, patternRefusal } from './parameters.ts'
import { fillDeferredValues, renderTemplate, restoreExpressions } from './render.ts'
import { BlueprintParameter, Template } from './template.ts'

const PLACE = {
  'deploy.name': 'shop',
  'deploy.id': 'id',
  'boundary.id': 'b',
  'boundary.name': 'Boundary',
  resourceGroup: 'group',
  'cluster.id': 'c',
  'cluster.region': 'north',
}

function rendered(components: object[], parameters: Record<string, string | boolean> = {}, outputs: object[] = []) {
  const template = Template.parse({ format: 1, slug: 's', name: 'S', version: '1.0.0', components, outputs })
  const order = template.components.map(({ name }) => name)
  return renderTemplate(template, { order, dependencies: new Map() }, { parameters, builtIns: PLACE, mark: 'k3' })
}
const db = { name: 'db', collection: 'relationalclusters', resourceName: `\${deploy.name}-db` }

describe('renderTemplate, fillLateValues and restoreExpressions', () => {
  it('set the name of the resource and fill its fields', () => {
    const [made] = rendered([{ ...db, spec: { replicas: 2, tags: { where: `\${cluster.region}` } } }]).components
    expect(made).to.deep.include({
      resourceName: 'shop-db',
      isSkipped: false,
      body: { replicas: 2, tags: { where: 'north' } },
    })
  })

  it('reference an output by the name of its resource', () => {
    const web = {
      name: 'web',
      collection: 'apps',
      resourceName: 'web',
      spec: { env: [{ name: 'A', output: { component: 'db', output: 'host' } }] },
    }
    const { components } = rendered([db, web])
    expect(components[1]?.body).to.deep.equal({
      env: [{ name: 'A', output: { collection: 'relationalclusters', name: 'shop-db', output: 'host' } }],
    })
  })

  it('resolve the name of a component and leave its other fields to the controller', () => {
    const web = {
      name: 'web',
      collection: 'apps',
      resourceName: 'web',
      spec: { a: `\${components.db.name}`, b: `http://\${components.db.host}/` },
    }
    const { components } = rendered([db, web])
    expect(components[1]?.body).to.deep.equal({ a: 'shop-db', b: 'http://%{k3.components.db.host}/' })
  })

  it('reject components and outputs whose text becomes too long', () => {
    const large = { ...db, resourceName: 'x'.repeat(512) }
    const of = (count: number) => ({ spec: { a: `\${components.db.name}`.repeat(count) } })
    const web = (name: string, count: number) => ({ name, collection: 'apps', resourceName: name, ...of(count) })
    // Without limits, a hundred times as much would exhaust the memory.
    const { components, refusals } = rendered([large, web('one', 13_000), web('a', 600), web('b', 600), web('c', 3)])
    expect(components.map(({ component }) => component.name)).to.deep.equal(['db', 'a', 'c'])
    expect(refusals.map(({ of: what, name }) => `${what} ${name}`)).to.deep.equal(['component one', 'component b'])
    expect(refusals[0]?.message).to.equal('is too long with its values, or makes all texts too long together')
    const outputs = [{ name: 'long', value: `\${parameters.p}`.repeat(200) }]
    expect(rendered([db], { p: 'x'.repeat(4_096) }, outputs).refusals).to.deep.include({
      of: 'output',
      name: 'long',
      message: 'is too long with its values, or makes all texts too long together',
    })
  })

  it('skip a component whose condition is false, and reject a component that needs it', () => {
    const skipped = { ...db, when: `\${parameters.size} == 'large'` }
    const web = { name: 'web', collection: 'apps', resourceName: 'web', spec: { a: `\${components.db.name}` } }
    const outputs = [{ name: 'host', component: 'db', output: 'host' }]
    const { components, refusals, outputs: renderedOutputs } = rendered([skipped, web], { size: 'small' }, outputs)
    expect(components.map(({ isSkipped }) => isSkipped)).to.deep.equal([true])
    expect(refusals).to.deep.equal([{ of: 'component', name: 'web', message: 'refers to "db", which is not created' }])
    expect(renderedOutputs).to.deep.equal([])
  })

  it('evaluate expressions of the template, but none in values of parameters', () => {
    const typed = `%{components.db.host} %{parameters.password} \${components.db.host}`
    const spec = { a: `\${parameters.motto}`, b: '%{components.db.host}', c: `\${components.db.host}` }
    const web = { name: 'web', collection: 'apps', resourceName: 'web', spec }
    const body = JSON.stringify(rendered([db, web], { motto: typed }).components[1]?.body)
    const filled = fillDeferredValues(body, 'k3', () => 'secret')
    expect(JSON.parse(filled)).to.deep.equal({ a: typed, b: '%{components.db.host}', c: 'secret' })
  })

  it('replace only the marked placeholders', () => {
    const text = 'a %{k3.components.db.host} b %{k3.parameters.p} %{x} %{components.db.host} c'
    expect(fillDeferredValues(text, 'k3', ({ root }) => (root === 'components' ? '$&' : undefined))).to.equal(
      'a $& b %{k3.parameters.p} %{x} %{components.db.host} c',
    )
    expect(restoreExpressions(text, 'k3')).to.equal(
      `a \${components.db.host} b \${parameters.p} %{x} %{components.db.host} c`,
    )
  })

  it('fill a deployment that was stored without marks', () => {
    expect(fillDeferredValues('%{components.db.host} %{k3.components.db.host}', '', () => 'x')).to.equal(
      'x %{k3.components.db.host}',
    )
  })
})

describe('parseParameter, parseParameters and patternRefusal', () => {
  const one = (parameter: object) => BlueprintParameter.parse({ name: 'p', ...parameter })
  const cases: [parameter: object, given: string, value: unknown][] = [
    [{ type: 'integer' }, '42', 42],
    [{ type: 'integer' }, '4.2', undefined],
    [{ type: 'integer', maximum: 5 }, '6', undefined],
    [{ type: 'number', minimum: 0 }, '0.5', 0.5],
    [{ type: 'number' }, '1e3', undefined],
    [{ type: 'boolean' }, 'true', true],
    [{ type: 'boolean' }, 'yes', undefined],
    [{ type: 'choice', choices: ['a', 'b'] }, 'b', 'b'],
    [{ type: 'choice', choices: ['a', 'b'] }, 'c', undefined],
    [{ type: 'string', pattern: '[a-z]+' }, 'abc', 'abc'],
    [{ type: 'string', pattern: '[a-z]+' }, 'abc1', undefined],
    [{ type: 'string', minLength: 2 }, 'a', undefined],
    [{ type: 'generated' }, 'mine', undefined],
  ]
  for (const [parameter, given, value] of cases)
    it(`${JSON.stringify(parameter)} ${value === undefined ? 'rejects' : 'accepts'} "${given}"`, () => {
      const read = parseParameter(one(parameter), given)
      expect('value' in read ? read.value : undefined).to.equal(value)
    })

  const patterns: [pattern: string, isTaken: boolean][] = [
    ['^[a-z][a-z0-9-]{2,30}$', true],
    ['[0-9]{4}-[0-9]{2}', true],
    ['small|medium|large', true],
    ['a?'.repeat(25), false],
    ['(a|a)'.repeat(20), false],
    ['(a|)'.repeat(20), false],
    ['[^b]*[^b]*[^b]*[^c]?b', false],
    ['[a-z0-9-]+', true],
    ['v[0-9]{1,3}\\.[0-9]{1,3}', true],
    ['(a|b)c?', true],
    ['(a+)+', false],
    ['a*b*c*d*', false],
    ['(?=a)b', false],
    ['(a)\\1', false],
    ['[', false],
  ]
  for (const [pattern, isTaken] of patterns)
    it(`${isTaken ? 'accept' : 'reject'} the pattern ${pattern}`, () =>
      expect(patternRefusal(pattern) === undefined).to.equal(isTaken))

  it('parse values by type, generate the missing ones and mask secrets', () => {
    const parameters = [
      one({ name: 'count', type: 'integer', default: 1 }),
      one({ name: 'size', type: 'string' }),
      one({ name: 'token', type: 'secret' }),
      one({ name: 'password', type: 'generated', length: 12 }),
    ]
    const read = parseParameters({ parameters }, { size: 'large', token: 'hunter2' }, (length) => 'x'.repeat(length))
    expect(read).to.deep.equal({
      plain: { count: 1, size: 'large' },
      secret: { token: 'hunter2', password: 'x'.repeat(12) },
      errors: [],
    })
    expect(maskedParameters(read)).to.deep.equal({ count: '1', size: 'large', token: '***', password: '***' })
    const { errors } = parseParameters({ parameters }, { other: 'x', count: 'many', token: 'hunter2' }, () => '')
    expect(errors.map(({ field }) => field)).to.deep.equal(['parameters.other', 'parameters.count', 'parameters.size'])
    expect(JSON.stringify(errors)).not.to.include('many')
  })
})
