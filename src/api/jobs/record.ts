import { z } from 'zod'
import { JOB_STATUSES, jobStatusOf, parseVaultReference } from '../../contracts/jobs.ts'
import { PlatformJob } from '../../crds/jobs.ts'
import { DateTime } from '../resources/dto.ts'
import { dateTime, enumeration, text } from '../resources/paging.ts'
import { recordOf } from '../resources/record.ts'
import { requireVaultRights } from '../resources/references.ts'
import { planInView } from '../resources/sizing.ts'
import type { ResourceView } from '../resources/types.ts'

export type JobView = ResourceView<typeof PlatformJob>

const statusOf = ({ object }: JobView) => jobStatusOf(object)

const completedAt = ({ object }: JobView) => object.status?.completedAt

/** JobDto (interface section 3, records: jobs). */
export const jobRecord = recordOf(PlatformJob, {
  id: 'JobDto',
  headless: ['id', 'boundary', 'boundaryId', 'collection', 'clusterName', 'region', 'phase', 'statusMessage'],
  hidden: ['command', 'args', 'retries', 'noRetryExitCodes', 'runAsUser', 'tags', 'cancelled'],
  computed: {
    status: [z.enum(JOB_STATUSES), statusOf],
    completedAt: [DateTime.nullable(), completedAt],
  },
  filled: { computePlan: planInView },
  refine: (draft, view) => {
    const values = Object.values(draft.env ?? {})
    requireVaultRights(
      values.flatMap((value) => parseVaultReference(value)?.vault ?? []),
      view,
    )
    return {}
  },
})

/** List columns that differ from those of other resources. */
export const jobFields = {
  clusterId: text('Cluster id', { isFiltered: false, isSorted: false, isShown: false }),
  computePlan: text('Plan', { of: planInView, isSorted: false }),
  status: enumeration('Status', JOB_STATUSES, { of: statusOf }),
  image: text('Image', { isSorted: false }),
  completedAt: dateTime('Ended', { of: completedAt }),
} as const
