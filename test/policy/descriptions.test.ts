import { expect } from 'chai'
import { KINDS } from '../../src/crds/index.ts'
import { crdManifest } from '../../src/crds/manifest.ts'

/** `kubectl explain` shows one line for a field. */
const MAX_LENGTH = 200
const FILLERS = new Set(['a', 'an', 'the', 'of', 'its', 'this'])

type Schema = {
  description?: string
  properties?: Record<string, Schema>
  items?: Schema
  additionalProperties?: Schema
}

/** The words of a name or sentence, which are equal for `cpuRequest`, `CPU request` and `The CPU request`. */
function wordsOf(text: string): string {
  const words = text.replace(/([a-z0-9])([A-Z])/g, '$1 $2').toLowerCase()
  return words
    .split(/[^a-z0-9]+/)
    .filter((word) => !FILLERS.has(word))
    .join(' ')
    .trim()
}

function faultOf(name: string, description: string | undefined): string | undefined {
  if (description === undefined || description.trim() === '') return 'has no description'
  if (wordsOf(description) === wordsOf(name)) return 'is described by its own name again'
  if (description.length > MAX_LENGTH)
    return `is described in ${description.length} characters, more than ${MAX_LENGTH}`
  return description.endsWith('.') ? 'has a description with a full stop at the end' : undefined
}

/** The faults, one sentence for each field, with the path that `kubectl explain` takes. */
function faultsOf(schema: Schema, path: string): string[] {
  const own = Object.entries(schema.properties ?? {}).flatMap(([name, field]) => {
    const fault = faultOf(name, field.description)
    return [...(fault === undefined ? [] : [`${path}.${name} ${fault}`]), ...faultsOf(field, `${path}.${name}`)]
  })
  const inner = [schema.items, schema.additionalProperties].filter((one) => one !== undefined)
  return [...own, ...inner.flatMap((one) => faultsOf(one, path))]
}

describe('descriptions of fields', () => {
  for (const kind of KINDS) {
    it(`are complete for ${kind.kind}`, () => {
      const { versions } = crdManifest(kind).spec as { versions: { schema: { openAPIV3Schema: Schema } }[] }
      const { spec = {}, status = {} } = versions[0]?.schema.openAPIV3Schema.properties ?? {}
      const faults = Object.entries({ spec, status }).flatMap(([part, schema]) =>
        faultsOf({ properties: { [part]: schema } }, kind.kind.toLowerCase()),
      )
      expect(faults).to.deep.equal([])
    })
  }

  const said = { description: 'How many of them there are' }
  const cases: [string, Schema, string[]][] = [
    ['a description', { properties: { count: said } }, []],
    ['no description', { properties: { count: {} } }, ['kind.count has no description']],
    ['an empty description', { properties: { count: { description: ' ' } } }, ['kind.count has no description']],
    [
      'the name of the field',
      { properties: { cpuRequest: { description: 'The cpu request' } } },
      ['kind.cpuRequest is described by its own name again'],
    ],
    [
      'a full stop',
      { properties: { count: { description: 'How many.' } } },
      ['kind.count has a description with a full stop at the end'],
    ],
    [
      'a description of 201 characters',
      { properties: { count: { description: 'a'.repeat(MAX_LENGTH + 1) } } },
      ['kind.count is described in 201 characters, more than 200'],
    ],
    [
      'fields in a list and in a map',
      {
        properties: {
          rules: { ...said, items: { properties: { id: {} } } },
          places: { ...said, additionalProperties: { properties: { host: {} } } },
        },
      },
      ['kind.rules.id has no description', 'kind.places.host has no description'],
    ],
  ]
  for (const [name, schema, faults] of cases)
    it(`are checked for faults: ${name}`, () => expect(faultsOf(schema, 'kind')).to.deep.equal(faults))
})
