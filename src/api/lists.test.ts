import { expect } from 'chai'
import { z } from 'zod'
import { expandPath } from './http/template.ts'
import { SERVED_ROUTES } from './index.ts'
import { filtersOf, sortsOf } from './resources/paging.ts'

/** What can be asked for and is no field of the record: an image is that of the first component. */
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

  it('is one of the many that are tested here', () => {
    expect(lists.length).to.be.greaterThan(60)
    expect(lists.filter(({ reply }) => recordOf(reply) === undefined).map(({ path }) => path)).to.deep.equal([])
  })

  it('of jobs can be asked for six fields, and ordered by four', () => {
    const list = lists.find(({ path }) => path === expandPath('{RG}/jobs'))?.list
    if (list === undefined) throw new Error('Jobs are not listed.')
    const asked = ['name', 'status', 'computePlan', 'createdAt', 'image', 'completedAt']
    expect(filtersOf(list)).to.deep.equal(asked)
    expect(sortsOf(list)).to.deep.equal(['name', 'status', 'createdAt', 'completedAt'])
  })

  for (const { path, list, reply } of lists) {
    it(`has columns, filters and orders that are fields of its record: ${path}`, () => {
      const names = recordOf(reply) ?? []
      const asked = Object.keys(list.fields).filter((name) => !HIDDEN.includes(`${path} ${name}`))
      expect(asked.filter((name) => !names.includes(name))).to.deep.equal([])
      expect(list.tagsOf === undefined || names.includes('tags'), 'tags').to.equal(true)
    })
  }
})
