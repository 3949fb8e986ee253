import { z } from 'zod'
import {
  COMPONENT_KINDS,
  COMPONENT_STATES,
  INSTALL_KINDS,
  INSTALL_PHASES,
  INSTALL_STATES,
  INSTALL_STEP_STATES,
  isNewerSemver,
  isSameVersion,
  isUpgradedByPeople,
  newestRelease,
} from '../../contracts/lifecycle.ts'
import { createdAtOf } from '../../core/object.ts'
import { describeReadyCount } from '../../core/pluralize.ts'
import type { ComponentInstall, ComponentRelease, PlatformComponent } from '../../crds/lifecycle.ts'
import { namedRecord } from '../http/namedRecord.ts'
import type { RecordOf } from '../records/records.ts'
import { DateTime, HealthReportDto, Uuid, wholeRecord } from '../resources/dto.ts'

export type ComponentRecord = RecordOf<typeof PlatformComponent>
export type ReleaseRecord = RecordOf<typeof ComponentRelease>
export type InstallRecord = RecordOf<typeof ComponentInstall>

const NullableText = z.string().nullable()
const NullableTime = DateTime.nullable()

export const ReleaseDto = namedRecord('ReleaseDto', {
  component: z.string(),
  version: z.string(),
  publishedAt: NullableTime,
  digest: z.string(),
  notesUrl: NullableText,
  isInstalled: z.boolean(),
  isNewest: z.boolean(),
  isSchemaBreaking: z.boolean().describe('Objects must be changed by hand before it'),
  migratesDatabase: z.boolean().describe('Only restoring a database undoes it'),
  minimumFromVersion: NullableText,
  requiredMinor: NullableText,
  crdBundleVersion: NullableText,
  minimumOperatorVersion: NullableText,
  requiredValues: z.array(z.string()),
  pins: z.record(z.string(), z.string()).describe('Versions of other components that it is made for'),
  isSigned: z.boolean(),
})

const componentFields = {
  name: z.string(),
  title: z.string(),
  kind: z.enum(COMPONENT_KINDS),
  chartName: NullableText,
  installedVersion: NullableText,
  latestVersion: NullableText,
  isInstalled: z.boolean(),
  isOutdated: z.boolean(),
  isSelectable: z.boolean().describe('Whether a plan may name it'),
  unselectableReason: z.enum(['ManualUpgrade', 'NoRelease', 'SchemaBreaking']).nullable(),
  isManualUpgrade: z.boolean(),
  migratesDatabase: z.boolean(),
  dependsOn: z.array(z.string()),
  pinnedBy: z.array(z.string()).describe('Components that are made for one version of it'),
  namespace: z.string(),
  status: z.enum(COMPONENT_STATES),
  health: HealthReportDto.nullable(),
  hasDrift: z.boolean(),
  lastChangedAt: NullableTime,
  feedReadAt: NullableTime,
}
export const ComponentSummaryDto = namedRecord('ComponentSummary', componentFields)
export const ComponentDto = namedRecord('ComponentDto', {
  ...componentFields,
  releases: z.array(ReleaseDto).describe('The 20 newest'),
  values: z.record(z.string(), z.unknown()).describe('What the chart gets, with *** for every secret'),
})

const InstallStep = namedRecord('InstallStep', {
  name: z.enum(INSTALL_PHASES),
  status: z.enum(INSTALL_STEP_STATES),
  message: NullableText,
  startedAt: NullableTime,
  finishedAt: NullableTime,
})

export const InstallDto = namedRecord('InstallDto', {
  id: Uuid,
  component: z.string(),
  version: z.string(),
  kind: z.enum(INSTALL_KINDS),
  status: z.enum(INSTALL_STATES),
  phase: z.enum(INSTALL_PHASES),
  message: NullableText,
  startedBy: z.string(),
  startedAt: DateTime.describe('While it waits: when it was requested'),
  finishedAt: NullableTime,
  steps: z.array(InstallStep),
  canResume: z.boolean(),
})

/** The objects from which component records are computed. */
export type ComponentInventory = { components: readonly ComponentRecord[]; releases: readonly ReleaseRecord[] }

/** Returns the installed release of the component, or else the newest. */
export function currentRelease(
  component: ComponentRecord,
  { releases }: ComponentInventory,
): ReleaseRecord | undefined {
  const { name } = component.metadata
  const version = component.spec.version ?? component.status?.installedVersion
  const installed = releases.find(({ spec }) => spec.component === name && isSameVersion(spec.version, version))
  return installed ?? newestRelease(releases, name)
}

export function summaryOf(
  component: ComponentRecord,
  inventory: ComponentInventory,
): z.output<typeof ComponentSummaryDto> {
  const { metadata, spec, status = {} } = component
  const { name } = metadata
  const newest = newestRelease(inventory.releases, name)
  const installed = status.installedVersion
  const reason = unselectableReason(component, newest)
  return wholeRecord(ComponentSummaryDto, {
    ...status,
    ...spec,
    name,
    chartName: spec.chart?.name,
    latestVersion: newest?.spec.version,
    isInstalled: installed !== undefined,
    isOutdated: installed !== undefined && newest !== undefined && isNewerSemver(newest.spec.version, installed),
    isSelectable: reason === null,
    unselectableReason: reason,
    isManualUpgrade: isUpgradedByPeople(component),
    dependsOn: spec.dependsOn.map((one) => one.name),
    pinnedBy: inventory.components
      .filter((other) => Object.hasOwn(currentRelease(other, inventory)?.spec.pins ?? {}, name))
      .map((other) => other.metadata.name)
      .sort(),
    status: status.state ?? 'NotInstalled',
    health: healthOf(component),
    hasDrift: status.hasDrift ?? false,
    feedReadAt: status.feed?.readAt,
  })
}

function unselectableReason({ spec, status }: ComponentRecord, newest: ReleaseRecord | undefined) {
  if (isUpgradedByPeople({ spec, status })) return 'ManualUpgrade'
  if (spec.chart === undefined || newest === undefined) return 'NoRelease'
  return newest.spec.isSchemaBreaking ? 'SchemaBreaking' : null
}

/** Returns the health of its workloads; null if there are none to check. */
function healthOf({ spec, status }: ComponentRecord): z.output<typeof HealthReportDto> | null {
  const seen = status?.workloads ?? []
  if (spec.workloads.length === 0 || status?.installedVersion === undefined || status.isOutside === true) return null
  const observedAt =
    status.conditions?.find(({ type }) => type === 'Ready')?.lastTransitionTime ?? '1970-01-01T00:00:00Z'
  const checks = spec.workloads.map(({ kind, name, namespace = spec.namespace }) => {
    const found = seen.find((one) => one.kind === kind && one.name === name && one.namespace === namespace)
    const message =
      found === undefined ? 'It is missing.' : `${describeReadyCount(found.ready, found.wanted, 'replica')}.`
    const isWhole = found !== undefined && found.ready >= found.wanted
    const state = isWhole ? 'Healthy' : (found?.ready ?? 0) > 0 ? 'Degraded' : 'Unhealthy'
    return { name: `${kind} ${namespace}/${name}`, status: state, message, durationMs: null, observedAt } as const
  })
  const isOf = (state: string) => checks.every((one) => one.status === state)
  const whole = isOf('Healthy') ? 'Healthy' : isOf('Unhealthy') ? 'Unhealthy' : 'Degraded'
  const worst = checks.find((one) => one.status !== 'Healthy')
  return { status: whole, checkedAt: observedAt, message: worst ? `${worst.name}: ${worst.message}` : null, checks }
}

export function releaseDto(
  { spec }: ReleaseRecord,
  { components, releases }: ComponentInventory,
): z.output<typeof ReleaseDto> {
  const component = components.find(({ metadata }) => metadata.name === spec.component)
  return wholeRecord(ReleaseDto, {
    ...spec,
    isInstalled: isSameVersion(spec.version, component?.status?.installedVersion),
    isNewest: newestRelease(releases, spec.component)?.spec.version === spec.version,
  })
}

/** @param version shown until the install has chosen one */
export function installFields({ metadata, spec, status = {} }: InstallRecord, version: string) {
  const state = status.state ?? 'Queued'
  const isResumeRequested = spec.requests.resumeAt !== undefined && spec.requests.resumeAt !== status.resumedAt
  return {
    component: spec.component,
    kind: spec.kind,
    version: status.version ?? spec.version ?? version,
    status: isResumeRequested && canResume(state) ? ('Queued' as const) : state,
    phase: status.step ?? ('Checking' as const),
    message: status.message ?? null,
    startedBy: spec.startedBy ?? '',
    startedAt: status.startedAt ?? createdAtOf(metadata),
    finishedAt: status.finishedAt ?? null,
    steps: (status.steps ?? INSTALL_PHASES.map((name) => ({ name, state: 'Pending' as const }))).map((step) =>
      wholeRecord(InstallStep, { ...step, status: step.state }),
    ),
    canResume: canResume(state) && !isResumeRequested,
  }
}

export const canResume = (state: string | undefined): boolean => state === 'Paused' || state === 'Failed'
