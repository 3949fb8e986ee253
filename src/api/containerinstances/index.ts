import { z } from 'zod'
import { ContainerInstance } from '../../crds/containerinstances.ts'
import type { RouteDraft } from '../http/route.ts'
import { flag, number, text } from '../resources/paging.ts'
import { planFields, planRoutes } from '../resources/plans.ts'
import { resource } from '../resources/resource.ts'
import { instanceRecord } from './record.ts'

const PlanDto = z
  .object({ ...planFields, storage: z.literal('').describe('Plans of container instances have no volumes') })
  .meta({ id: 'ContainerInstancePlanDto' })

/** The routes of container instances (interface sections 4.2 and 4.6). */
export const containerInstanceRoutes: readonly RouteDraft[] = [
  ...resource(ContainerInstance, {
    segment: 'containerinstances',
    actionPrefix: 'containerinstance',
    ...instanceRecord,
    fields: {
      image: text('Image', { of: ({ object }) => object.spec.components[0]?.image, isSorted: false }),
      isPublic: flag('Public', { isSorted: false }),
      revision: number('Revision', { of: ({ object }) => object.status?.revision }),
      restartCount: number('Restarts', { of: ({ object }) => object.status?.restartCount ?? 0, isFiltered: false }),
    },
  }),
  ...planRoutes({
    segment: 'containerinstancecomputeplans',
    family: 'ContainerInstance',
    dto: PlanDto,
    productionReplicas: 3,
    more: () => ({ storage: '' }),
  }),
]
