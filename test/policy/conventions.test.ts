import { expect } from 'chai'
import { KINDS } from '../../src/crds/index.ts'
import { crdManifest, isReconciled } from '../../src/crds/manifest.ts'

type Schema = {
  [key: string]: unknown
  type?: string
  format?: string
  properties?: Record<string, Schema>
  items?: Schema
  additionalProperties?: Schema | boolean
}

/** A schema within that of a kind, with the path to it. */
type Place = { path: string; part: 'spec' | 'status'; schema: Schema }

function placesIn(schema: Schema, path: string, part: Place['part']): Place[] {
  const { properties = {}, items, additionalProperties: values } = schema
  return [
    { path, part, schema },
    ...Object.entries(properties).flatMap(([name, field]) => placesIn(field, `${path}.${name}`, part)),
    ...(items === undefined ? [] : placesIn(items, `${path}[]`, part)),
    ...(typeof values === 'object' ? placesIn(values, `${path}{}`, part) : []),
  ]
}

function rootOf(kind: (typeof KINDS)[number]): Schema {
  const { versions } = crdManifest(kind).spec as { versions: { schema: { openAPIV3Schema: Schema } }[] }
  return versions[0]?.schema.openAPIV3Schema ?? {}
}

const PLACES = KINDS.flatMap((kind) =>
  (['spec', 'status'] as const).flatMap((part) =>
    placesIn(rootOf(kind).properties?.[part] ?? {}, `${kind.kind}.${part}`, part),
  ),
)

/** A pattern that bounds a text by itself: a digest, a name out of a few. */
const isBoundedBy = (pattern: unknown) => typeof pattern === 'string' && !/[*+]|,\}/.test(pattern)
const isBoundedText = ({ enum: values, maxLength, pattern }: Schema) =>
  values !== undefined || maxLength !== undefined || isBoundedBy(pattern)

/** Conventions of the Kubernetes API, and of its linters. */
describe('schemas of CRDs', () => {
  const faults = (isFault: (place: Place) => boolean) => PLACES.filter(isFault).map(({ path }) => path)

  it('are walked whole', () => expect(PLACES).to.have.length.above(2_000))

  it('state the size of each integer', () =>
    expect(faults(({ schema }) => schema.type === 'integer' && !/^int(32|64)$/.test(schema.format ?? ''))).to.be.empty)

  it('have no fractions, which are stored differently by language', () =>
    expect(faults(({ schema }) => schema.type === 'number')).to.be.empty)

  it('say how each list is merged', () =>
    expect(faults(({ schema }) => schema.type === 'array' && schema['x-kubernetes-list-type'] === undefined)).to.be
      .empty)

  it('bound each text, list and map that people write', () => {
    const written = ({ part }: Place) => part === 'spec'
    const text = (place: Place) => written(place) && place.schema.type === 'string' && !isBoundedText(place.schema)
    const list = (place: Place) =>
      written(place) && place.schema.type === 'array' && place.schema.maxItems === undefined
    const map = (place: Place) =>
      written(place) && place.schema.additionalProperties !== undefined && place.schema.maxProperties === undefined
    // The ledger is written by the controllers, and has an entry for each object of a boundary, which are limited.
    const isLedger = (path: string) => path === 'QuotaLedger.spec.grants'
    expect(faults(text)).to.be.empty
    expect(faults(list)).to.be.empty
    expect(faults(map).filter((path) => !isLedger(path))).to.be.empty
  })

  it('have fields in camelCase', () => {
    const isCamelCase = (name: string) => /^[a-z][A-Za-z0-9]*(\[\]|\{\})*$/.test(name)
    expect(faults(({ path }) => !path.split('.').slice(1).every(isCamelCase))).to.be.empty
  })

  it('have the conditions of Kubernetes, merged by type', () => {
    for (const kind of KINDS.filter(isReconciled)) {
      const conditions = rootOf(kind).properties?.status?.properties?.conditions
      const { lastTransitionTime, observedGeneration, reason } = conditions?.items?.properties ?? {}
      expect(conditions, kind.kind).to.deep.include({
        'x-kubernetes-list-type': 'map',
        'x-kubernetes-list-map-keys': ['type'],
      })
      expect(lastTransitionTime?.format, kind.kind).to.equal('date-time')
      expect(observedGeneration, kind.kind).to.include({ format: 'int64', minimum: 0 })
      expect(reason, kind.kind).to.include({ minLength: 1, maxLength: 1024 })
    }
  })
})
