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

describe('the OpenAPI document for client generators', () => {
  const all = objectsOf(wholeOpenApiDocument())
  const where = (isWrong: (schema: Schema) => boolean) =>
    all.filter(({ schema }) => isWrong(schema)).map((at) => at.where)

  it('has more than 100 integer schemas', () => {
    expect(all.filter(({ schema }) => schema.type === 'integer')).to.have.length.above(100)
  })

  // Generators for Go and Python support a list of types only as one type and null.
  it('combines no types except one type and null', () => {
    const several = where((schema) => typesOf(schema).filter((type) => type !== 'null').length > 1)
    expect(several).to.deep.equal([])
  })

  it('has no schema that is only null', () => {
    const alone = all.filter(({ schema, where }) => schema.type === 'null' && !/\/(any|one)Of\/\d+$/.test(where))
    expect(alone.map((at) => at.where)).to.deep.equal([])
  })

  it('has no anyOf with an empty schema', () => {
    expect(
      where(({ anyOf }) => Array.isArray(anyOf) && anyOf.some((one) => Object.keys(one).length === 0)),
    ).to.deep.equal([])
  })

  // Otherwise they become 32-bit numbers, too small for the size of a file or the count of rows.
  it('declares int64 for integers beyond 32 bits and double for numbers', () => {
    const isWide = ({ maximum = Infinity }: Schema) => maximum >= 2 ** 31
    expect(
      where((schema) => typesOf(schema).includes('integer') && isWide(schema) && schema.format !== 'int64'),
    ).to.deep.equal([])
    expect(where((schema) => typesOf(schema).includes('number') && schema.format !== 'double')).to.deep.equal([])
  })

  it('has no default for an array parameter', () => {
    const repeated = all.filter(({ where }) => /\/parameters\/\d+\/schema$/.test(where))
    expect(repeated).to.not.be.empty
    const defaults = repeated.filter(({ schema }) => schema.type === 'array' && schema.default !== undefined)
    expect(defaults.map((at) => at.where)).to.deep.equal([])
  })

  it('describes each parameter', () => {
    const described = all.filter(({ where }) => /\/(get|post|put|patch|delete)\/parameters\/\d+$/.test(where))
    expect(described).to.have.length.above(1000)
    const silent = described.filter(({ schema }) => (schema as { description?: string }).description === undefined)
    expect(silent.map((at) => at.where)).to.deep.equal([])
  })

  // Generated clients parse it into a time or a UUID type, to which no pattern applies.
  it('declares times and UUIDs by format alone', () => {
    expect(
      where(
        ({ format, ...rest }) =>
          format !== undefined && ['date-time', 'uuid'].includes(format) && ('pattern' in rest || 'maxLength' in rest),
      ),
    ).to.deep.equal([])
  })

  it('declares each time as date-time', () => {
    const times = all.filter(({ where, schema }) => /(At|Utc)$/.test(where) && typesOf(schema).includes('string'))
    expect(times).to.have.length.above(100)
    expect(times.filter(({ schema }) => schema.format !== 'date-time').map((at) => at.where)).to.deep.equal([])
  })

  it('declares flags as booleans, not as the texts true and false', () => {
    expect(where((schema) => String((schema as { enum?: string[] }).enum) === 'true,false')).to.deep.equal([])
  })

  // Go clients have a method HasX for each optional field x, and do not compile with a field hasX beside it.
  it('has no record with the fields x and hasX', () => {
    const clashes = all.filter(({ schema }) => {
      const names = Object.keys((schema as { properties?: object }).properties ?? {})
      const methods = names.map((name) => `has${name.slice(0, 1).toUpperCase()}${name.slice(1)}`)
      return names.some((name) => methods.includes(name))
    })
    expect(clashes.map((at) => at.where)).to.deep.equal([])
  })

  it('names every paged list as a component', () => {
    const lists = all.filter(({ schema }) =>
      Object.hasOwn((schema as { properties?: object }).properties ?? {}, 'pagination'),
    )
    expect(lists).to.have.length.above(40)
    expect(
      lists.map((at) => at.where).filter((where) => !/^\/components\/schemas\/PagedListResponseOf/.test(where)),
    ).to.deep.equal([])
  })

  it('has defaults beside an anyOf with null, not within', () => {
    const choices = all.filter(({ where }) => /\/anyOf\/0$/.test(where))
    expect(choices).to.have.length.above(100)
    expect(choices.filter(({ schema }) => schema.default !== undefined).map((at) => at.where)).to.deep.equal([])
  })

  // For an anyOf, generators make an extra record type for the values of a map.
  it('declares nullable scalar values of maps by a type list, not by anyOf', () => {
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

  it('declares the content of every body, except arbitrary JSON', () => {
    const bodies = all.filter(({ where }) => /\/content\/[^/]+~?\/?[^/]*\/schema$/.test(where))
    expect(bodies).to.have.length.above(500)
    const unsaid = bodies.filter(({ schema }) => Object.keys(schema).every((key) => key === 'description'))
    expect(unsaid.map((at) => at.where).filter((where) => !where.endsWith('/application/json/schema'))).to.deep.equal(
      [],
    )
  })

  // Generators for Go decode an anyOf into the type that they make for its name.
  it('names each anyOf of several schemas as a component', () => {
    const choices = where(({ anyOf = [] }) => anyOf.filter(({ type }) => type !== 'null').length > 1)
    expect(choices).to.not.be.empty
    expect(choices.filter((where) => !/^\/components\/schemas\/\w+$/.test(where))).to.deep.equal([])
  })

  // Go cannot name an inline record.
  it('names each object schema as a component', () => {
    const records = all.filter(({ schema }) => typeof (schema as { properties?: object }).properties === 'object')
    expect(records).to.have.length.above(400)
    const nameless = records.filter(({ where }) => !/^\/components\/schemas\/\w+$/.test(where))
    expect(nameless.map((at) => at.where)).to.deep.equal([])
    // Generators name answers OperationIdResponse.
    const ids = new Set(all.flatMap(({ schema }) => (schema as { operationId?: string }).operationId ?? []))
    const clashing = records.filter(({ where }) => ids.has(/(\w+)Response$/.exec(where)?.[1] ?? ''))
    expect(clashing.map((at) => at.where)).to.deep.equal([])
    const counted = records.filter(({ where }) => /[a-z][2-9]$/.test(where))
    expect(
      counted.map((at) => at.where),
      'names that differ in a number only',
    ).to.deep.equal([])
  })
})
