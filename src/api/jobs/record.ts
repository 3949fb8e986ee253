import { z } from 'zod'
import { JOB_STATUSES, jobStatusOf, vaultReference } from '../../contracts/jobs.ts'
import { PlatformJob } from '../../crds/jobs.ts'
import { DateTime } from '../resources/dto.ts'
import { dateTime, enumeration, text } from '../resources/paging.ts'
import { recordOf } from '../resources/record.ts'
import { refuseForeignVaults } from '../resources/references.ts'
import { planOf, shownPlan } from '../resources/sizing.ts'
import type { ResourceView } from '../resources/types.ts'

export type JobView = ResourceView<typeof PlatformJob>

const statusOf = ({ object }: JobView) => jobStatusOf(object)

const completedAt = ({ object }: JobView) => object.status?.completedAt

/** JobDto (interface section 3, records: jobs), with the fields of records 20.12, which the interface does not list. */
export const jobRecord = recordOf(PlatformJob, {
  id: 'JobDto',
  headless: ['id', 'boundary', 'boundaryId', 'collection', 'clusterName', 'region', 'phase'],
  hidden: ['noRetryExitCodes', 'runAsUser'],
  additions: ['command', 'args', 'retries', 'tags', 'startedAt', 'exitCode', 'statusMessage'],
  computed: {
    status: [z.enum(JOB_STATUSES), statusOf],
    startedAt: [
      DateTime.nullable().describe('When its first container started'),
      ({ object }) => object.status?.startedAt,
    ],
    completedAt: [DateTime.nullable().describe('When it ended, well or not'), completedAt],
    exitCode: [
      z.int().nullable().describe('Of the last run; null until a container has ended'),
      ({ object }) => object.status?.exitCode,
    ],
  },
  filled: { computePlan: ({ services, object }) => shownPlan(object.spec, planOf(services, 'Job', object.spec)) },
  refine: (draft, view) => {
    const values = Object.values(draft.env ?? {})
    refuseForeignVaults(
      values.flatMap((value) => vaultReference(value)?.vault ?? []),
      view,
    )
    return {}
  },
})

/** What the list can be asked for beyond what every resource has. */
export const jobFields = {
  status: enumeration('Status', JOB_STATUSES, { of: statusOf }),
  image: text('Image', { isSorted: false }),
  completedAt: dateTime('Ended', { of: completedAt }),
} as const
