import { z } from 'zod'
import { JOB_STATUSES } from '../../contracts/jobs.ts'
import { RESOURCE_STATES } from '../../core/conditions.ts'
import { RESOURCE_KINDS } from '../../crds/index.ts'
import { resourceScope } from '../callers/visibility.ts'
import type { Context } from '../http/context.ts'
import { namedRecord } from '../http/namedRecord.ts'
import type { GroupResource } from '../resources/contents.ts'
import { headFields, Tags, Uuid } from '../resources/dto.ts'
import { createViewBuilder } from '../resources/find.ts'
import { mayRead } from '../resources/holders.ts'
import { enumeration, type ListShape, text } from '../resources/paging.ts'
import { headOf, recordStatusOf, resourceShape } from '../resources/resourceShape.ts'
import { planInView } from '../resources/sizing.ts'
import type { ResourceView } from '../resources/types.ts'

const STATUSES = [...new Set([...RESOURCE_STATES, ...JOB_STATUSES])]

export const ResourceSummaryDto = namedRecord('ResourceSummaryDto', {
  ...headFields,
  status: z.enum(STATUSES).describe('As the record of the resource shows it'),
  clusterId: Uuid,
  computePlan: z.string().nullable(),
  tags: Tags,
  href: z.string().describe('Path of the record'),
})

/** A resource of any kind, as in lists over all kinds. */
export type SummaryView = ResourceView & { readonly collection: string }

export function summaryDto(view: SummaryView): z.input<typeof ResourceSummaryDto> {
  const { collection, boundaryId, resourceGroup, object } = view
  const { tags = {} } = object.spec as { tags?: Record<string, string> }
  const href = resourceScope(boundaryId, resourceGroup, collection, object.metadata.name)
  return { ...headOf(view, collection), status: recordStatusOf(object), computePlan: planInView(view), tags, href }
}

/** Returns the resources that the caller may read, ready to be listed. */
export function readableViews(
  context: Context,
  boundaryId: string,
  resources: readonly GroupResource[],
): SummaryView[] {
  const view = createViewBuilder(context.services, boundaryId)
  return resources
    .filter((resource) => mayRead(context, boundaryId, resource))
    .map(({ kind, object, resourceGroup }) => ({ ...view(object, resourceGroup), collection: kind.segment }))
}

/** Returns the shape of lists over kinds; `isAcross` several groups, it includes the group. */
function summaryShape(isAcross: boolean): ListShape<SummaryView> {
  const shape = resourceShape({ dto: ResourceSummaryDto }, isAcross) as unknown as ListShape<SummaryView>
  const { name, ...others } = shape.fields
  return {
    ...shape,
    fields: {
      ...(name !== undefined && { name }),
      collection: enumeration(
        'Collection',
        RESOURCE_KINDS.map(({ segment }) => segment),
      ),
      resourceGroup: text('Resource group'),
      ...others,
      status: enumeration('Status', STATUSES, { of: ({ object }) => recordStatusOf(object) }),
    },
  }
}

export const groupResourcesShape = summaryShape(false)
export const boundaryResourcesShape = summaryShape(true)
