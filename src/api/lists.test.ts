import { expect } from 'chai'
import { z } from 'zod'
import { expandPath } from './http/template.ts'
import { SERVED_ROUTES } from './index.ts'
import { filtersOf, sortsOf } from './resources/paging.ts'

/** Filters that are no field of the record: the image is that of the first component. */
const HIDDEN = ['{RG}/containerinstances', '{B}/resources/containerinstances'].map(
  (path) => `${expandPath(path)} image`,
)

function recordOf(reply: z.ZodType | undefined): string[] | undefined {
  const items = reply instanceof z.ZodObject ? (reply.shape.items as z.ZodType | undefined) : undefined
  const item = items instanceof z.ZodArray ? items.element : undefined
  return item instanceof z.ZodObject ? Object.keys(item.shape) : undefined
}

describe('every list', () => {
  const lists = SERVED_ROUTES.flatMap((route) => (route.list === undefined ? [] : [{ ...route, list: route.list }]))

  it('is found more than 60 times, each with a record', () => {
    expect(lists.length).to.be.greaterThan(60)
    expect(lists.filter(({ reply }) => recordOf(reply) === undefined).map(({ path }) => path)).to.deep.equal([])
  })

  it('filters jobs by 6 fields and sorts them by 4', () => {
    const list = lists.find(({ path }) => path === expandPath('{RG}/jobs'))?.list
    if (list === undefined) throw new Error('Jobs are not listed.')
    const filters = ['name', 'status', 'computePlan', 'createdAt', 'image', 'completedAt']
    expect(filtersOf(list)).to.deep.equal(filters)
    expect(sortsOf(list)).to.deep.equal(['name', 'status', 'createdAt', 'completedAt'])
  })

  it('sorts groups by name, resourceCount and createdAt', () => {
    const list = lists.find(({ path }) => path === expandPath('{B}/resourcegroups'))?.list
    expect(list && sortsOf(list)).to.deep.equal(['name', 'resourceCount', 'createdAt'])
  })

  it('declares phase as an enumeration', () => {
    const phases = lists.filter(({ list }) => Object.hasOwn(list.fields, 'phase'))
    expect(phases.length).to.be.greaterThan(20)
    for (const { path, list } of phases) expect(list.fields.phase?.type, path).to.equal('enumeration')
  })

  it('is searched if it has texts, enumerations or tags', () => {
    for (const { path, list } of lists) {
      const fields = Object.values(list.fields)
      const hasWords = fields.some(({ type }) => type === 'text' || type === 'enumeration')
      const isSearched = list.tagsOf !== undefined || fields.some((field) => field.isSearched === true)
      expect(isSearched, path).to.equal(hasWords)
    }
  })

  for (const { path, list, reply } of lists) {
    it(`filters and sorts by fields of its record only: ${path}`, () => {
      const names = recordOf(reply) ?? []
      const fields = Object.keys(list.fields).filter((name) => !HIDDEN.includes(`${path} ${name}`))
      expect(fields.filter((name) => !names.includes(name))).to.deep.equal([])
      expect(list.tagsOf === undefined || names.includes('tags'), 'tags').to.equal(true)
    })
  }
})
