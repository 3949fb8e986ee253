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

describe('texts that people are shown', () => {
  it('are refused where they hold what cannot be seen', () => {
    expect(refused({ displayName: 'Ac\u200bme' })).to.deep.equal(['displayName'])
    expect(refused({ displayName: 'Acme' })).to.deep.equal([])
  })

  it('are found in lists, by their place', () => {
    const required = [
      { key: 'a', title: 'A' },
      { key: 'b', title: 'B\u202e' },
    ]
    const found = hiddenTexts(PlatformComponent.spec, { title: 'Shop', required })
    expect(found.map(({ path }) => path)).to.deep.equal([['required', 1, 'title']])
  })

  it('say to the API server what they say to REST', () => {
    const { properties } = structuralSchema(Boundary.spec, 'spec') as { properties: Record<string, object> }
    const message = hiddenTexts(Boundary.spec, { displayName: '\u200b' })[0]?.message
    expect(JSON.stringify(properties.displayName)).to.include(message)
  })

  for (const { kind, spec } of KINDS)
    it(`lie in lists that the API server merges by a key, so that it forgives what an item held before: ${kind}`, () => {
      expect(listsOfTexts(structuralSchema(spec, 'spec'), 'spec')).to.deep.equal([])
    })

  const NAMED = /^(displayName|title|description|firstName|lastName)$/
  for (const { kind, spec } of KINDS) {
    const named = Object.entries(spec.shape as Record<string, z.ZodType>).filter(([name]) => NAMED.test(name))
    if (named.length === 0) continue
    it(`are all that people give names and descriptions with: ${kind}`, () => {
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

/** Lists that the API server judges as a whole although they hold such texts. */
function listsOfTexts(node: Node, path: string): string[] {
  if (node.items !== undefined) {
    const isWhole = node['x-kubernetes-list-type'] !== 'map' && JSON.stringify(node.items).includes(`${CANNOT_BE_SEEN}`)
    return [...(isWhole ? [path] : []), ...listsOfTexts(node.items, `${path}[]`)]
  }
  return Object.entries(node.properties ?? {}).flatMap(([name, part]) => listsOfTexts(part, `${path}.${name}`))
}
