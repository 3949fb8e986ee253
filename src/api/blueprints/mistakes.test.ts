import { expect } from 'chai'
import { startBlueprintShopWithDefaults, searchTemplate as template } from '../../../test/worlds/blueprintShop.ts'
import { CLUSTER } from '../../../test/worlds/facadeServer.ts'
import { BOUNDARY } from '../../../test/worlds/shop.ts'
import { objectId } from '../../core/ids.ts'
import { SYSTEM_NAMESPACE } from '../../core/names.ts'
import { BlueprintTemplate } from '../../crds/blueprints.ts'

describe('error messages for blueprints', () => {
  let world: Awaited<ReturnType<typeof startBlueprintShopWithDefaults>>
  beforeEach(async () => {
    world = await startBlueprintShopWithDefaults()
  })
  afterEach(() => world.stop())

  type World = typeof world
  const post: World['post'] = (...given) => world.post(...given)
  const deploy: World['deploy'] = (...given) => world.deploy(...given)

  it('validates a template by the REST schema of each collection', async () => {
    const bad = template('1.0.0', '', '{ replicas: 100, size: 3 }')
    const { body } = await post(bad, 'templates/validate')
    expect(body).to.include({ isValid: false, slug: 'search', blueprint: null })
    expect(body.problems.map(({ code, path }: Record<string, string>) => `${code} ${path}`)).to.have.members([
      'SpecInvalid /components/0/spec/replicas',
      'UnknownField /components/0/spec/size',
    ])
    const { body: typo } = await post(template('1.0.0', '', `{ replica: "\${parameters.plan}" }`), 'templates/validate')
    expect(typo.problems.map(({ code, path }: Record<string, string>) => `${code} ${path}`)).to.deep.equal([
      'UnknownField /components/0/spec/replica',
    ])
    const refused = await post(bad)
    expect(refused.status).to.equal(400)
    expect(refused.body).to.include({ code: 'TEMPLATE_INVALID' })
    expect(refused.body.problems).to.deep.equal(body.problems)
    expect((await post(template(), 'templates/validate')).body).to.deep.include({ isValid: true, problems: [] })
  })

  for (const [why, text] of [
    ['is invalid YAML', 'a: ['],
    ['is empty', ''],
    ['contains a control character', 'a: 1 # \u0007'],
    ['is larger than 256 KiB', `a: ${'x'.repeat(300_000)}`],
  ] as const)
    it(`returns a Syntax problem for a template that ${why}`, async () => {
      const { status, body } = await post(text, 'templates/validate')
      expect(status).to.equal(200)
      expect(body).to.include({ isValid: false, slug: null, blueprint: null })
      expect(body.problems[0].code).to.equal('Syntax')
      const refused = await post(text)
      expect(refused.status).to.equal(400)
      expect(refused.body).to.include({ code: 'TEMPLATE_INVALID' })
      expect(refused.body.problems).to.deep.equal(body.problems)
    })

  it('names the blueprint that a wrong blueprintId belongs to', async () => {
    await post(template())
    const own = await world.idOfSlug('search')
    const errorFor = async (blueprintId: string) => (await deploy({ blueprintId })).body.error as string
    const head = (id: string) => `The blueprintId "${id}" does not belong to blueprint "search"`
    const tail = `"search" has the id "${own}".`
    const other = await world.idOfSlug('static-site')
    expect(await errorFor(other)).to.equal(`${head(other)}: that is the id of blueprint "static-site". ${tail}`)
    expect(await errorFor(CLUSTER)).to.equal(`${head(CLUSTER)}: there is no blueprint with that id. ${tail}`)
    const { metadata } = world.put(BlueprintTemplate, 'search', { slug: 'search', content: 'x' }, SYSTEM_NAMESPACE)
    const hidden = objectId(BlueprintTemplate.resource, metadata)
    expect(await errorFor(hidden)).to.equal(
      `${head(hidden)}: that is the id of the one from the platform, and the one from this boundary is used now. ${tail}`,
    )
    expect((await deploy({ blueprintId: own.toUpperCase() })).status).to.equal(202)
  })

  it('suggests names for unknown parameters, components and fields', async () => {
    await post(template())
    const parameter = await deploy({ parameters: { plann: 'vector-dev' } })
    expect(parameter.body.error).to.equal(
      'The field "parameters.plann" is not a parameter of this blueprint; did you mean "plan"?',
    )
    const { body } = await deploy({ componentOverrides: [{ name: 'vector' }, { name: 'web' }] })
    expect(body.errors).to.deep.equal([
      { field: 'componentOverrides.0.name', message: 'is not a component of this blueprint; did you mean "vectors"?' },
      { field: 'componentOverrides.1.name', message: 'is not a component of this blueprint' },
    ])
    const field = await deploy({ paramters: {} })
    expect(field.body.errors).to.deep.equal([
      { field: 'paramters', message: 'is not a field of this record; did you mean "parameters"?' },
    ])
  })

  it('warns about missing plans in a valid template', async () => {
    const path = `/boundaries/${BOUNDARY}/resources/blueprints/templates/validate`
    const problemsOf = async (content: string) => {
      const { body } = await world.ask('post', path).send({ content })
      expect(body.isValid).to.equal(true)
      return body.problems.map(
        ({ severity, path: at, message }: Record<string, string>) => `${severity} ${at} ${message}`,
      )
    }
    expect(await problemsOf(template())).to.deep.equal([])
    expect(await problemsOf(template().replace('default: vector-dev', 'default: vector-dew'))).to.deep.equal([
      'Warning /parameters/0/default there is no compute plan "vector-dew" of family Vector; did you mean "vector-dev"?',
    ])
    expect(await problemsOf(template('1.0.0', '', '{ computePlan: gold }'))).to.deep.equal([
      'Warning /components/0/spec/computePlan there is no compute plan "gold" of family Vector',
    ])
  })

  it('returns all problems of a template at once, with suggestions', async () => {
    const wrong = template('1.0.0', '', '{ replcas: 3 }')
      .replace('version: 1.0.0', 'versoin: 1.0.0')
      .replace('collection: secretvaults', 'collection: secretvault')
      .replace('parameters.password', 'parameters.pasword')
    const { body } = await post(wrong, 'templates/validate')
    expect(body.problems.map(({ path, message }: Record<string, string>) => `${path} ${message}`)).to.have.members([
      '/versoin is not a field of this record; did you mean "version"?',
      '/version is required (a string)',
      '/components/0/spec/replcas is not a field of this record; did you mean "replicas"?',
      '/components/1/collection "secretvault" is not a collection that a blueprint can create resources of; did you mean "secretvaults"?',
      '/components/2/spec/value there is no parameter "pasword"; did you mean "password"?',
    ])
  })
})
