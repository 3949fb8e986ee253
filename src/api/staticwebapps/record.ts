import { z } from 'zod'
import { withRenamedFields } from '../../core/errors.ts'
import { DeploymentRecord } from '../../crds/deployments.ts'
import { withDefaults } from '../../crds/schemaDefaults.ts'
import { StaticWebApp } from '../../crds/staticwebapps.ts'
import { namedRecord } from '../http/namedRecord.ts'
import type { RecordOf } from '../records/records.ts'
import { withoutAbsent } from '../records/specs.ts'
import { refuseSource } from '../resources/deployments/owner.ts'
import { deploymentsOf, type StoredDeployment } from '../resources/deployments/record.ts'
import { DateTime, wholeRecord } from '../resources/dto.ts'
import { chooseHost, hostFields, ownHost, refuseTakenHosts } from '../resources/hosts.ts'
import { recordOf } from '../resources/record.ts'
import { PlanId } from '../resources/sizing.ts'
import type { ResourceView, WriteView } from '../resources/types.ts'

export type SiteView = ResourceView<typeof StaticWebApp>

const SHOWN_DEPLOYMENTS = 10
const RESULTS = ['Succeeded', 'Failed', 'Cancelled'] as const

const StaticWebAppDeploymentDto = namedRecord('StaticWebAppDeploymentDto', {
  number: z.int(),
  image: z.string().nullable(),
  revision: z.string().nullable().describe('Commit that was built'),
  message: z.string().nullable(),
  result: z.enum(RESULTS).nullable().describe('Null while it is under way'),
  startedAt: DateTime.nullable(),
  finishedAt: DateTime.nullable(),
})

/** Returns the numbered deployments, newest first. */
export function numberedDeploymentsOf({ services, object: { metadata } }: Pick<SiteView, 'services' | 'object'>) {
  const location = { namespace: metadata.namespace ?? '', collection: 'staticwebapps' as const, name: metadata.name }
  return deploymentsOf({ services }, location)
    .flatMap((record) => (record.status?.number === undefined ? [] : [{ number: record.status.number, record }]))
    .sort((one, other) => other.number - one.number)
}

function shownDeployment({ number, record: { status } }: { number: number; record: StoredDeployment }) {
  const { stage } = status ?? {}
  return wholeRecord(StaticWebAppDeploymentDto, {
    ...status,
    number,
    revision: status?.commitSha,
    message: status?.lastMessage,
    // A superseded deployment is shown as cancelled.
    result: stage === 'Superseded' ? 'Cancelled' : RESULTS.find((result) => result === stage),
  })
}

const record = recordOf(StaticWebApp, {
  hidden: ['computePlan', 'running', 'restartedAt', 'deploy', 'rollback', 'cancelledDeployment'],
  computed: {
    ...hostFields,
    commit: z.string().nullable().describe('Commit that is served'),
    deployments: [
      z.array(StaticWebAppDeploymentDto).describe('The 10 newest'),
      (view) => numberedDeploymentsOf(view).slice(0, SHOWN_DEPLOYMENTS).map(shownDeployment),
    ],
    servingImage: z.string().nullable().describe('Image that is served'),
    readyReplicas: z.int(),
    revision: z.int().describe('The newest; 0 until the first is recorded'),
  },
  shownAs: {
    ingressHost: (view) => {
      const { spec, status } = view.object
      const own = { enabled: spec.enableIngress, chosen: spec.ingressHost, held: status?.publicHost }
      return ownHost({ kind: StaticWebApp, ...own }, view)
    },
  },
  refine: (given, view) => {
    const ingressHost = chooseHost(StaticWebApp, given, view)
    const draft = withDefaults(StaticWebApp.spec, withoutAbsent({ ...given, ingressHost }))
    refuseSource(draft, view)
    refuseTakenHosts(StaticWebApp, { ...draft, isPublic: draft.enableIngress }, view)
    return { ingressHost }
  },
})

const DEFAULT_PLAN = StaticWebApp.spec.shape.computePlan.parse(undefined)
const planField = { resourcePlanId: PlanId.describe('Compute plan of family ContainerInstance') }

const bodyName = (field: string) => (field === 'computePlan' ? 'resourcePlanId' : field)

function siteSpec({ resourcePlanId, ...body }: Record<string, unknown>, view: WriteView<typeof StaticWebApp>): object {
  try {
    return record.toSpec({ ...body, resourcePlanId: resourcePlanId ?? DEFAULT_PLAN }, view)
  } catch (error) {
    throw withRenamedFields(error, bodyName)
  }
}

/** StaticWebAppDto (records: static web apps). Its plan has a single field name and its own default. */
export const siteRecord = {
  ...record,
  dto: record.dto.extend(planField).meta({ id: 'StaticWebAppDto' }),
  body: record.body.extend({ resourcePlanId: planField.resourcePlanId.nullish() }),
  toDto: (view: SiteView) => ({ ...record.toDto(view), resourcePlanId: view.object.spec.computePlan }),
  toBody: (object: RecordOf<typeof StaticWebApp>) => ({
    ...record.toBody(object),
    resourcePlanId: object.spec.computePlan,
  }),
  toSpec: siteSpec,
  dependsOn: {
    kinds: [DeploymentRecord, ...(record.dependsOn?.kinds ?? [])],
    versionOf: (view: SiteView) => {
      const versions = numberedDeploymentsOf(view).map(({ record: { metadata } }) => metadata.resourceVersion)
      return [record.dependsOn?.versionOf(view), ...versions.slice(0, SHOWN_DEPLOYMENTS)].join()
    },
  },
}
