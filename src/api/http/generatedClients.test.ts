import { expect } from 'chai'
import { wholeOpenApiDocument } from '../index.ts'

type Schema = {
  type?: string | string[]
  format?: string
  maximum?: number
  anyOf?: Schema[]
  default?: unknown
}
type Found = { where: string; schema: Schema }

/** Every object below the schemas, bodies and parameters of a document, with its place. */
function objectsOf(value: unknown, where = ''): Found[] {
  if (typeof value !== 'object' || value === null) return []
  const below = Object.entries(value).flatMap(([key, part]) => objectsOf(part, `${where}/${key}`))
  return Array.isArray(value) ? below : [{ where, schema: value as Schema }, ...below]
}

const typesOf = ({ type }: Schema) => [type ?? []].flat()

describe('the OpenAPI document, as generators of clients read it', () => {
  const all = objectsOf(wholeOpenApiDocument())
  const where = (isWrong: (schema: Schema) => boolean) =>
    all.filter(({ schema }) => isWrong(schema)).map((at) => at.where)

  it('holds schemas to look at', () => {
    expect(all.filter(({ schema }) => schema.type === 'integer')).to.have.length.above(100)
  })

  // Generators for Go and Python know a list of types only as one type and null.
  it('lists no types beside each other but one and null', () => {
    const several = where((schema) => typesOf(schema).filter((type) => type !== 'null').length > 1)
    expect(several).to.deep.equal([])
  })

  it('has no value that is never anything but null', () => {
    const alone = all.filter(({ schema, where }) => schema.type === 'null' && !/\/(any|one)Of\/\d+$/.test(where))
    expect(alone.map((at) => at.where)).to.deep.equal([])
  })

  it('chooses between no schemas of which one takes everything', () => {
    expect(
      where(({ anyOf }) => Array.isArray(anyOf) && anyOf.some((one) => Object.keys(one).length === 0)),
    ).to.deep.equal([])
  })

  // Otherwise they become numbers of 32 bits, which hold neither the size of a file nor a row of SQL.
  it('says how large numbers may be', () => {
    const isWide = ({ maximum = Infinity }: Schema) => maximum >= 2 ** 31
    expect(
      where((schema) => typesOf(schema).includes('integer') && isWide(schema) && schema.format !== 'int64'),
    ).to.deep.equal([])
    expect(where((schema) => typesOf(schema).includes('number') && schema.format !== 'double')).to.deep.equal([])
  })

  it('has no default for a parameter that may be repeated', () => {
    const repeated = all.filter(({ where }) => /\/parameters\/\d+\/schema$/.test(where))
    expect(repeated).to.not.be.empty
    const defaults = repeated.filter(({ schema }) => schema.type === 'array' && schema.default !== undefined)
    expect(defaults.map((at) => at.where)).to.deep.equal([])
  })

  it('says what each parameter is', () => {
    const described = all.filter(({ where }) => /\/(get|post|put|patch|delete)\/parameters\/\d+$/.test(where))
    expect(described).to.have.length.above(1000)
    const silent = described.filter(({ schema }) => (schema as { description?: string }).description === undefined)
    expect(silent.map((at) => at.where)).to.deep.equal([])
  })

  // They hold it as a time or an id, to which no pattern applies.
  it('says times and ids by their format alone', () => {
    expect(
      where(
        ({ format, ...rest }) =>
          format !== undefined && ['date-time', 'uuid'].includes(format) && ('pattern' in rest || 'maxLength' in rest),
      ),
    ).to.deep.equal([])
  })

  it('has flags that are booleans', () => {
    expect(where((schema) => String((schema as { enum?: string[] }).enum) === 'true,false')).to.deep.equal([])
  })

  it('names every record of a list', () => {
    const lists = all.filter(({ schema }) =>
      Object.hasOwn((schema as { properties?: object }).properties ?? {}, 'pagination'),
    )
    expect(lists).to.have.length.above(40)
    expect(
      lists.map((at) => at.where).filter((where) => !/^\/components\/schemas\/PagedListResponseOf/.test(where)),
    ).to.deep.equal([])
  })

  it('has defaults beside a choice with null, not within', () => {
    const choices = all.filter(({ where }) => /\/anyOf\/0$/.test(where))
    expect(choices).to.have.length.above(100)
    expect(choices.filter(({ schema }) => schema.default !== undefined).map((at) => at.where)).to.deep.equal([])
  })

  // Of a choice, they make a record of its own for the values of a map.
  it('has maps of texts and numbers that may be null, not of choices between them and null', () => {
    const isScalar = ({ type, ...rest }: Schema) =>
      ['string', 'integer', 'number', 'boolean'].includes(String(type)) && !('enum' in rest) && !('const' in rest)
    const maps = all.filter(({ where }) => where.endsWith('/additionalProperties'))
    expect(maps).to.have.length.above(20)
    const choices = maps.filter(
      ({ schema: { anyOf: [one, nothing, ...others] = [] } }) =>
        one !== undefined && isScalar(one) && nothing?.type === 'null' && others.length === 0,
    )
    expect(choices.map((at) => at.where)).to.deep.equal([])
  })

  it('says of every body what it holds: fields or bytes, but for what may be any JSON', () => {
    const bodies = all.filter(({ where }) => /\/content\/[^/]+~?\/?[^/]*\/schema$/.test(where))
    expect(bodies).to.have.length.above(500)
    const unsaid = bodies.filter(({ schema }) => Object.keys(schema).every((key) => key === 'description'))
    expect(unsaid.map((at) => at.where).filter((where) => !where.endsWith('/application/json/schema'))).to.deep.equal(
      [],
    )
  })

  // Generators for Go decode a choice by the type that they make for its name.
  it('has a name for each choice between several', () => {
    const choices = where(({ anyOf = [] }) => anyOf.filter(({ type }) => type !== 'null').length > 1)
    expect(choices).to.not.be.empty
    expect(choices.filter((where) => !/^\/components\/schemas\/\w+$/.test(where))).to.deep.equal([])
  })

  // A record without a name cannot be written down in Go.
  it('has a name for each record that is sent or within another', () => {
    const records = all.filter(({ schema }) => typeof (schema as { properties?: object }).properties === 'object')
    expect(records).to.have.length.above(400)
    const nameless = records.filter(({ where }) => !/^\/components\/schemas\/\w+$/.test(where))
    expect(nameless.map((at) => at.where)).to.deep.equal([])
    // A generator names each answer so.
    const ids = new Set(all.flatMap(({ schema }) => (schema as { operationId?: string }).operationId ?? []))
    const taken = records.filter(({ where }) => ids.has(/(\w+)Response$/.exec(where)?.[1] ?? ''))
    expect(taken.map((at) => at.where)).to.deep.equal([])
    const counted = records.filter(({ where }) => /[a-z][2-9]$/.test(where))
    expect(
      counted.map((at) => at.where),
      'names that only a number tells apart',
    ).to.deep.equal([])
  })
})
