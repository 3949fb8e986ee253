import { expect } from 'chai'
import { KEPT_CASES, NARROWED } from '../../../test/cases/keptCases.ts'
import { sampleSpec } from '../../../test/make/samples.ts'
import { type FieldError, PlatformError } from '../../core/errors.ts'
import { isRecord } from '../../core/isRecord.ts'
import type { AnyKind } from '../../crds/define.ts'
import { KINDS } from '../../crds/index.ts'
import { structuralSchema } from '../../crds/structural.ts'
import { isKept, readChanged } from './readChanged.ts'
import { checkSpec } from './specs.ts'

const WORLD = {
  boundaryId: '11111111-1111-4111-8111-111111111111',
  ownerId: '22222222-2222-4222-8222-222222222222',
  memberId: '33333333-3333-4333-8333-333333333333',
}
/** A value that no typed field accepts. */
const ODD = { odd: [true] }
type Path = readonly (string | number)[]

/** @returns the rejected fields; undefined if none is */
function refusedBy(read: () => unknown): string[] | undefined {
  try {
    read()
    return undefined
  } catch (error) {
    if (!(error instanceof PlatformError)) throw error
    return (error.extras.errors as FieldError[]).map(({ field }) => field)
  }
}

const pathsIn = (value: unknown, path: Path = []): Path[] => {
  const below = Array.isArray(value) ? [...value.entries()] : isRecord(value) ? Object.entries(value) : []
  return below.flatMap(([name, part]) => [[...path, name], ...pathsIn(part, [...path, name])])
}

function withAt(value: unknown, [name, ...rest]: Path, part: unknown): unknown {
  if (name === undefined) return part
  const copy = structuredClone(value) as Record<string | number, unknown>
  copy[name] = withAt(copy[name], rest, part)
  return copy
}

describe('a spec stored by an earlier version', () => {
  const kind = { spec: NARROWED, rules: [] } as unknown as AnyKind
  for (const [sentence, stored, next, refused] of KEPT_CASES) {
    it(`is ${refused.length === 0 ? 'accepted' : 'rejected'}: ${sentence}`, () => {
      expect(refusedBy(() => checkSpec(kind, stored, undefined))).to.not.equal(undefined)
      expect(refusedBy(() => checkSpec(kind, next, stored)) ?? []).to.deep.equal(refused)
      if (refused.length === 0) expect(checkSpec(kind, next, stored)).to.deep.equal(next)
    })
  }

  it('skips a rule while the fields of its asksAbout do not change', () => {
    const failing = {
      code: 'BAD_REQUEST',
      field: 'size',
      message: 'is refused',
      cel: 'self.size < 0',
      test: () => false,
    }
    const ruled = { ...kind, rules: [{ ...failing, asksAbout: ['size'] }] } as unknown as AnyKind
    expect(refusedBy(() => checkSpec(ruled, { size: 1 }, { size: 1 }))).to.equal(undefined)
    expect(refusedBy(() => checkSpec(ruled, { size: 1, note: 'x' }, { size: 1 }))).to.equal(undefined)
    expect(refusedBy(() => checkSpec(ruled, { size: 2 }, { size: 1 }))).to.deep.equal(['size'])
    expect(refusedBy(() => checkSpec(ruled, { size: 1 }, undefined))).to.deep.equal(['size'])
  })

  for (const kind of KINDS) {
    it(`is accepted with an invalid value at any path while this value is unchanged: ${kind.kind}`, () => {
      const sample = sampleSpec(kind, WORLD)
      const isRefused = (spec: unknown, previous?: unknown) =>
        refusedBy(() => readChanged(kind.spec, spec, previous)) !== undefined
      const places = pathsIn(sample).filter((path) => isRefused(withAt(sample, path, ODD)))
      expect(places).to.not.be.empty
      for (const [index, path] of places.entries()) {
        const stored = withAt(sample, path, ODD)
        expect(isRefused(structuredClone(stored), stored), path.join('.')).to.equal(false)
        expect(isRefused(withAt(sample, path, { odd: [false] }), stored), path.join('.')).to.equal(true)
        const other = places.at(index - 1) ?? path
        if (other !== path) expect(isRefused(stored, withAt(sample, other, ODD)), `${path} and ${other}`).to.equal(true)
      }
    })

    it(`matches items of lists by their keys: ${kind.kind}`, () => {
      const schema = structuralSchema(kind.spec, 'spec')
      const items = mergedLists(schema)
      expect(items.length > 0).to.equal(JSON.stringify(schema).includes('"x-kubernetes-list-map-keys"'))
      for (const { path, next, previous } of items)
        expect(isKept(kind.spec, path, next, previous), path.join('.')).to.equal(true)
    })
  }
})

type Node = { items?: Node; properties?: Record<string, Node>; 'x-kubernetes-list-map-keys'?: string[] }
type Moved = { path: Path; next: object; previous: object }

/** An item of each list with keys; the stored list has another item before it. */
function mergedLists({ properties = {}, items, 'x-kubernetes-list-map-keys': keys = [] }: Node): Moved[] {
  const fields = Object.entries(properties).flatMap(([name, part]) =>
    mergedLists(part).map(({ path, next, previous }) => ({
      ...{ path: [name, ...path], next: { [name]: next }, previous: { [name]: previous } },
    })),
  )
  if (items === undefined) return fields
  const item = (value: string) => Object.fromEntries(keys.map((key) => [key, value]))
  const below = mergedLists(items).map(({ path, next, previous }) => ({
    ...{ path: [0, ...path], next: [{ ...item('a'), ...next }], previous: [{ ...item('a'), ...previous }] },
  }))
  return keys.length === 0 ? below : [...below, { path: [0], next: [item('a')], previous: [item('b'), item('a')] }]
}
