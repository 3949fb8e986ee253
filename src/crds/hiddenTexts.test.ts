import { expect } from 'chai'
import type { z } from 'zod'
import { unwrapSchema } from '../core/unwrapSchema.ts'
import { Boundary } from './boundaries.ts'
import { SHOWN_TEXTS } from './fields.ts'
import { hiddenTexts } from './hiddenTexts.ts'
import { KINDS } from './index.ts'
import { PlatformComponent } from './lifecycle.ts'
import { structuralSchema } from './structural.ts'

const refused = (spec: object) => hiddenTexts(Boundary.spec, spec).map(({ path }) => path.join('.'))

describe('hiddenTexts', () => {
  it('reports a field with invisible characters', () => {
    expect(refused({ displayName: 'Ac\u200bme' })).to.deep.equal(['displayName'])
    expect(refused({ displayName: 'Acme' })).to.deep.equal([])
  })

  it('reports the position in a list', () => {
    const required = [
      { key: 'a', title: 'A' },
      { key: 'b', title: 'B\u202e' },
    ]
    const found = hiddenTexts(PlatformComponent.spec, { title: 'Shop', required })
    expect(found.map(({ path }) => path)).to.deep.equal([['required', 1, 'title']])
  })

  it('has the same message as the CRD schema', () => {
    const { properties } = structuralSchema(Boundary.spec, 'spec') as { properties: Record<string, object> }
    const message = hiddenTexts(Boundary.spec, { displayName: '\u200b' })[0]?.message
    expect(JSON.stringify(properties.displayName)).to.include(message)
  })

  for (const { kind, spec } of KINDS)
    it(`reports no lists in ${kind} that the API server validates as a whole`, () => {
      expect(listsOfTexts(structuralSchema(spec, 'spec'), 'spec')).to.deep.equal([])
    })

  const NAMED = /^(displayName|title|description|firstName|lastName)$/
  for (const { kind, spec } of KINDS) {
    const named = Object.entries(spec.shape as Record<string, z.ZodType>).filter(([name]) => NAMED.test(name))
    if (named.length === 0) continue
    it(`checks all names and descriptions of ${kind}`, () => {
      const open = named.filter(([, schema]) => SHOWN_TEXTS.get(unwrapSchema(schema)) === undefined)
      expect(open.map(([name]) => name)).to.deep.equal([])
    })
  }
})

type Node = {
  items?: Node
  properties?: Record<string, Node>
  'x-kubernetes-list-type'?: string
}
const CANNOT_BE_SEEN = hiddenTexts(Boundary.spec, { displayName: '\u200b' })[0]?.message

/** Lists with such texts that the API server validates as a whole. */
function listsOfTexts(node: Node, path: string): string[] {
  if (node.items !== undefined) {
    const isWhole = node['x-kubernetes-list-type'] !== 'map' && JSON.stringify(node.items).includes(`${CANNOT_BE_SEEN}`)
    return [...(isWhole ? [path] : []), ...listsOfTexts(node.items, `${path}[]`)]
  }
  return Object.entries(node.properties ?? {}).flatMap(([name, part]) => listsOfTexts(part, `${path}.${name}`))
}
