import { expect } from 'chai'
import { z } from 'zod'
import { defineKind } from '../../crds/define.ts'
import { ShownLine } from '../../crds/fields.ts'
import { recordOf } from './record.ts'
import { resource } from './resource.ts'

const Notebook = defineKind({
  group: 'compute',
  kind: 'Notebook',
  called: { collection: 'notebooks' },
  shortNames: ['nbk'],
  placement: 'group',
  area: 'notebooks',
  description: 'A kind that the interface does not have.',
  spec: z.strictObject({ title: ShownLine.min(1).max(64).describe('Heading') }),
  status: z.object({}),
  columns: [],
})

describe('the routes of a kind that the interface does not have', () => {
  const routes = resource(Notebook, {
    segment: 'notebooks',
    actionPrefix: 'notebooks',
    hasFinalizer: false,
    example: { title: 'Sums' },
    ...recordOf(Notebook, { id: 'NotebookDto' }),
  })
  const named = '/boundaries/{boundaryId}/resourcegroups/{resourceGroupName}/resources/notebooks/{name}'

  for (const method of ['GET', 'POST', 'PUT', 'PATCH', 'DELETE']) {
    it(`include ${method} of one`, () => {
      expect(routes.filter((route) => route.method === method).map(({ path }) => path)).to.include(named)
    })
  }

  it('have no actions if it cannot be stopped, and no scale if it has no replicas', () => {
    expect(routes.filter(({ path }) => /\/(actions|scale)\b/.test(path))).to.deep.equal([])
  })
})
