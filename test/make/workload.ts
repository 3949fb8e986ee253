import { z } from 'zod'
import { defineKind } from '../../src/crds/define.ts'

/** Stands in for a kind whose resources run code, so that what follows such resources can be tested without one. */
export const StandInApp = defineKind({
  group: 'compute',
  kind: 'StandInApp',
  plural: 'apps',
  shortNames: [],
  placement: 'group',
  area: 'apps',
  description: 'Stands in for resources that run code.',
  spec: z.strictObject({}),
  status: z.object({}),
  columns: [],
})
