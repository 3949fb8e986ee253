import { expect } from 'chai'
import { z } from 'zod'
import { type PlatformError, refusalSentence } from '../../core/errors.ts'
import { describeIssue } from '../../core/schemaIssues.ts'
import { KINDS } from '../../crds/index.ts'
import { SERVED_ROUTES } from '../index.ts'
import { readModel } from './model.ts'

/** Values of each type that few fields accept. */
const WRONG: readonly unknown[] = [
  '',
  ' ',
  'Not A Name!',
  'a\nb',
  '\u0000',
  '\u0085',
  'ß'.repeat(5000),
  '-1',
  '0',
  '*',
  '9Ei',
  'http://[',
  '2026-13-45',
  '/x/',
  -1,
  0.5,
  1e15,
  Number.MAX_SAFE_INTEGER,
  true,
  null,
  [],
  [{}],
  ['', ''],
  {},
  { '': '' },
  { '\n': 1 },
  { 'a b': 'x'.repeat(40_000) },
]

/** Reasons that do not help a reader: patterns, texts of the library, or none. */
const UNHELPFUL =
  /required form|accepted forms|^is not allowed$|not allowed$|Invalid|Too |expected|pattern|\/\^|undefined|NaN|\[object/

type Part = { path: string; schema: z.ZodType }

/** All schemas in a schema that were not seen yet, with their paths. */
function parts(schema: z.ZodType, path: string, seen: Set<z.ZodType>): Part[] {
  if (seen.has(schema)) return []
  seen.add(schema)
  const below = (part: unknown, name: string) => parts(part as z.ZodType, `${path}${name}`, seen)
  const here = { path, schema }
  if (schema instanceof z.ZodObject) {
    return [here, ...Object.entries(schema.shape).flatMap(([name, part]) => below(part, `.${name}`))]
  }
  if (schema instanceof z.ZodArray) return [here, ...below(schema.element, '[]')]
  if (schema instanceof z.ZodRecord) return [here, ...below(schema.keyType, '{key}'), ...below(schema.valueType, '{}')]
  if (schema instanceof z.ZodUnion) return [here, ...schema.options.flatMap((option) => below(option, '|'))]
  if (
    schema instanceof z.ZodOptional ||
    schema instanceof z.ZodNullable ||
    schema instanceof z.ZodDefault ||
    schema instanceof z.ZodPrefault
  ) {
    return below(schema.unwrap(), '')
  }
  return [here]
}

describe('the reasons of validation errors', () => {
  const seen = new Set<z.ZodType>()
  const bodies = SERVED_ROUTES.flatMap(({ method, path, body, query }) =>
    [body, query].flatMap((schema) => (schema === undefined ? [] : parts(schema, `${method} ${path} `, seen))),
  )
  const specs = KINDS.flatMap((kind) => parts(kind.spec, kind.kind, seen))

  it('contain no pattern and no library text, for any field of a body, query or kind', () => {
    const unhelpful = new Set<string>()
    for (const { path, schema } of [...bodies, ...specs]) {
      for (const value of WRONG) {
        const result = schema.safeParse(value, { reportInput: true })
        for (const issue of result.error?.issues ?? []) {
          const reason = issue.code === 'unrecognized_keys' ? 'is not a field of this record' : describeIssue(issue)
          if (UNHELPFUL.test(reason)) unhelpful.add(`${path}: ${reason} (${JSON.stringify(value)?.slice(0, 30)})`)
        }
      }
    }
    expect([...unhelpful]).to.deep.equal([])
  })

  it('are sentences that name the field, for any field of a body, query or kind', () => {
    const malformed = new Set<string>()
    let refusals = 0
    for (const { path, schema } of [...bodies, ...specs]) {
      for (const value of WRONG) {
        const refusal = refusalOf(schema, value)
        if (refusal === undefined) continue
        refusals += 1
        if (!isSentence(refusal) || /\[object|undefined|NaN/.test(refusal.message))
          malformed.add(`${path}: ${refusal.message}`)
      }
    }
    expect(refusals).to.be.above(5_000)
    expect([...malformed]).to.deep.equal([])
  })

  it('are sentences that name the field, for every rule of every kind', () => {
    const reasons = KINDS.flatMap(({ kind, rules }) =>
      rules.map(({ field, message }) => ({ kind, field, message: refusalSentence({ field, message }) })),
    )
    const malformed = reasons.filter(({ field, message }) => !isSentence({ message, extras: { errors: [{ field }] } }))
    expect(reasons).to.have.length.above(100)
    expect(malformed).to.deep.equal([])
  })
})

function refusalOf(schema: z.ZodType, value: unknown): PlatformError | undefined {
  try {
    readModel(schema, value)
    return undefined
  } catch (error) {
    return error as PlatformError
  }
}

/** The part after the subject: a verb phrase, or "was refused:" with a clause. */
const SAYS =
  /^(was refused: (?!(is|are|must|has|have|cannot|needs|may) )\S|(?!was refused|and |or )[a-z]+,? \S).*[^.][.?]$/s

function isSentence({ message, extras }: Pick<PlatformError, 'message' | 'extras'>): boolean {
  const { field = '' } = (extras.errors as { field?: string }[])[0] ?? {}
  const subject = field === '' ? 'The body ' : `The field "${field}" `
  return message.startsWith(subject) && SAYS.test(message.slice(subject.length))
}

/** Names of fields that contain ids of platform objects or timestamps. */
const READ_AS_MODEL = /\.(\w+Id|(\w+I|i)ds\[\]|\w+(At|On|Time|Before))$/
/** Ids of providers and stores are free text. */
const FREE_TEXT = /\.(clientId|resourcePlanId|alertId|accessKeyId|installationId|repositoryId)$/

describe('readModel with an integer beyond 2^53', () => {
  it('reports only the bound of the field', () => {
    const Body = z.object({ pods: z.int().min(5).max(9), count: z.int() })
    for (const [pods, bound] of [
      [2 ** 53, 'must be at most 9'],
      [-(2 ** 53), 'must be at least 5'],
    ] as const) {
      const count = { field: 'count', message: `must be at most ${Number.MAX_SAFE_INTEGER}` }
      expect(() => readModel(Body, { pods, count: 2 ** 53 }))
        .to.throw()
        .with.nested.property('extras.errors')
        .that.deep.equals([{ field: 'pods', message: bound }, count])
    }
  })
})

describe('ids and timestamps in requests', () => {
  // Many fields share a schema, so that none may be skipped as seen.
  const bodies = SERVED_ROUTES.flatMap(({ method, path, body, documentedBody: whole = body }) =>
    whole === undefined ? [] : parts(whole, `${method} ${path} `, new Set()),
  )
  // Read-only fields may be sent back in a body, and are ignored.
  const isRead = ({ schema }: Part) => !(schema instanceof z.ZodUnknown)
  const timestampsAndIds = bodies.filter(
    (part) => READ_AS_MODEL.test(part.path) && !FREE_TEXT.test(part.path) && isRead(part),
  )

  it('are refused with MODEL_BINDING_FAILED when malformed, on every route', () => {
    const codeOf = (schema: z.ZodType) => {
      try {
        return readModel(schema, 'nope') && 'none'
      } catch (error) {
        return (error as PlatformError).code
      }
    }
    const read = timestampsAndIds.flatMap(({ path, schema }) => {
      const code = codeOf(schema)
      return code === 'MODEL_BINDING_FAILED' ? [] : [`${path}: ${code}`]
    })
    expect(timestampsAndIds).to.have.length.above(50)
    expect(timestampsAndIds.map(({ path }) => path)).to.include('POST /resourcegroups/orphaned-grants/purge .ids[]')
    expect(read).to.deep.equal([])
  })

  it('are read in lower case, in every body and query', () => {
    const [small, large] = ['abcdef00-abcd-fabc-fabc-abcdefabcdef', 'ABCDEF00-ABCD-FABC-FABC-ABCDEFABCDEF']
    const queries = SERVED_ROUTES.flatMap(({ method, path, query }) =>
      query === undefined ? [] : parts(query, `${method} ${path} ?`, new Set()),
    )
    // Whatever its name, the field accepts ids only.
    const takesIds = ({ schema }: Part) => schema.safeParse(small).success && !schema.safeParse('nope').success
    const ids = [...bodies, ...queries].filter(takesIds)
    const other = ids.flatMap(({ path, schema }) => (readModel(schema, large) === small ? [] : [path]))
    expect(ids).to.have.length.above(50)
    expect(other).to.deep.equal([])
  })
})

describe('missing fields and wrong types in bodies', () => {
  const bodyOf = (method: string, end: string) => {
    const found = SERVED_ROUTES.find((route) => route.method === method && route.path.endsWith(end))
    return (found?.documentedBody ?? found?.body) as z.ZodType
  }
  const refusal = (schema: z.ZodType, value: unknown) => {
    try {
      readModel(schema, value)
      return ''
    } catch (error) {
      return (error as PlatformError).message
    }
  }

  for (const [sentence, body, message] of [
    ['a string for a number', { replicas: 'three' }, /replicas.*must be .*number/],
    ['a number for a string', { storageSize: 5 }, /storageSize.*must be/],
    ['an array for an object', [], /body.*must be .*(object|record)/],
  ] as const) {
    it(`are reported as a wrong type, not as missing: ${sentence}`, () => {
      expect(refusal(bodyOf('POST', '/vectorclusters/{name}'), body))
        .to.match(message)
        .and.not.include('required')
    })
  }

  for (const end of ['/boundaries/{boundaryId}/tenant', '/providers/authorization/tenant-move']) {
    it(`do not detach a boundary from its tenant without "tenantId": null: POST ${end}`, () => {
      expect(refusal(bodyOf('POST', end), {})).to.match(/tenantId.*required/)
      expect(refusal(bodyOf('POST', end), { tenantId: null })).to.equal('')
    })
  }
})

describe('null in bodies', () => {
  const seen = new Set<z.ZodType>()
  const records = SERVED_ROUTES.flatMap(({ method, path, body, documentedBody: whole = body }) =>
    whole === undefined ? [] : parts(whole, `${method} ${path} `, seen),
  ).filter(({ schema }) => schema instanceof z.ZodObject)
  const withNull = (schema: z.ZodType, name: string) => {
    try {
      readModel(schema, { [name]: null })
      return []
    } catch (error) {
      return ((error as PlatformError).extras.errors as { field: string; message: string }[]) ?? []
    }
  }

  it('equals absence for every optional field of every route', () => {
    let optional = 0
    const refused = records.flatMap(({ path, schema }) =>
      Object.entries((schema as z.ZodObject).shape).flatMap(([name, field]) => {
        if (!(field as z.ZodType).safeParse(undefined).success) return []
        optional += 1
        const faults = withNull(schema, name).filter((fault) => fault.field === name)
        return faults.map(({ message }) => `${path}.${name}: ${message}`)
      }),
    )
    expect(optional).to.be.above(500)
    expect(refused).to.deep.equal([])
  })

  const model = z.strictObject({
    must: z.string(),
    may: z.enum(['A', 'B']).default('A'),
    inner: z.strictObject({ may: z.number().default(1), must: z.number() }).optional(),
    map: z.record(z.string(), z.string()).default({}),
    list: z.array(z.string()).default([]),
  })
  const refused: [sentence: string, body: object, message: RegExp][] = [
    ['for a required field, not reported as missing', { must: null, may: null }, /"must" (?!.*required)/],
    ['in a map', { must: '', map: { a: null } }, /"map.a"/],
    ['in an array', { must: '', list: [null] }, /"list.0"/],
    ['in a nested object', { must: '', inner: { must: null } }, /"inner.must"/],
  ]
  for (const [sentence, body, message] of refused) {
    it(`is rejected ${sentence}`, () => {
      expect(() => readModel(model, body)).to.throw(message)
    })
  }

  it('is dropped in a nested object, and enumerations are read in any case', () => {
    const read = readModel(model, { must: '', may: 'b', list: null, inner: { must: 2, may: null } })
    expect(read).to.deep.equal({ must: '', may: 'B', inner: { must: 2, may: 1 }, map: {}, list: [] })
  })
})

describe('enumerations in bodies', () => {
  const seen = new Set<z.ZodType>()
  const enumerations = SERVED_ROUTES.flatMap(({ method, path, body }) =>
    body === undefined ? [] : parts(body, `${method} ${path} `, seen),
  ).filter(({ schema }) => schema instanceof z.ZodEnum)

  it('are accepted in any case, on every route', () => {
    expect(enumerations).to.have.length.above(20)
    const other = enumerations.flatMap(({ path, schema }) =>
      (schema as z.ZodEnum).options.flatMap((value) =>
        [String(value).toLowerCase(), String(value).toUpperCase()].flatMap((text) => {
          const read = readModel(z.object({ field: schema }), { field: text }) as { field: unknown }
          return read.field === value ? [] : [`${path}: ${text}`]
        }),
      ),
    )
    expect(other).to.deep.equal([])
  })
})
