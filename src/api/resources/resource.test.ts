import { expect } from 'chai'
import { z } from 'zod'
import { defineKind } from '../../crds/define.ts'
import { ShownLine } from '../../crds/fields.ts'
import { ClusterId } from '../../crds/workloadFields.ts'
import { recordOf } from './record.ts'
import { resource } from './resource.ts'

const title = ShownLine.min(1).max(64).describe('Heading')
const notebook = {
  group: 'compute',
  kind: 'Notebook',
  restNaming: { collection: 'notebooks' },
  shortNames: ['nbk'],
  placement: 'group',
  area: 'notebooks',
  description: 'A kind that the interface does not have.',
  status: z.object({}),
  columns: [],
} as const
const Notebook = defineKind({ ...notebook, spec: z.strictObject({ title, clusterId: ClusterId }) })

const declaration = {
  hasFinalizer: false,
  example: { title: 'Sums' },
} as const

describe('the routes of a kind that the interface does not have', () => {
  const routes = resource(Notebook, { ...declaration, ...recordOf(Notebook, { id: 'NotebookDto' }) })
  const named = '/boundaries/{boundaryId}/resourcegroups/{resourceGroupName}/resources/notebooks/{name}'

  for (const method of ['GET', 'POST', 'PUT', 'PATCH', 'DELETE']) {
    it(`include ${method} of one`, () => {
      expect(routes.filter((route) => route.method === method).map(({ path }) => path)).to.include(named)
    })
  }

  it('declare the answers to a create and a deletion', () => {
    const answersTo = (method: string) => routes.find((route) => route.method === method)?.answers
    expect([answersTo('POST'), answersTo('DELETE')]).to.deep.equal([
      [200, 201],
      [202, 204],
    ])
  })

  it('have no actions if it cannot be stopped, and no scale if it has no replicas', () => {
    expect(routes.filter(({ path }) => /\/(actions|scale)\b/.test(path))).to.deep.equal([])
  })

  it('need the field of its cluster, which a create sets', () => {
    const Drawing = defineKind({ ...notebook, kind: 'Drawing', spec: z.strictObject({ title }) })
    const record = recordOf(Drawing, { id: 'DrawingDto' })
    expect(() => resource(Drawing, { ...declaration, ...record })).to.throw(/Drawing needs the field clusterId/)
  })
})
