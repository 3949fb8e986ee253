import { z } from 'zod'
import { COMPONENT_KINDS, isSameVersion } from '../../contracts/lifecycle.ts'
import { timestamp } from '../../core/clock.ts'
import { pluralize, pluralizeVerb } from '../../core/pluralize.ts'
import { compareTexts } from '../../core/textOrder.ts'
import { ok } from '../http/answer.ts'
import type { Context } from '../http/context.ts'
import { namedRecord } from '../http/namedRecord.ts'
import { action, type RouteDraft, route } from '../http/route.ts'
import { DateTime } from '../resources/dto.ts'
import { readInventory } from './inventory.ts'
import { type ComponentInventory, type ComponentRecord, currentRelease } from './records.ts'

const view = action('lifecycle/view')
const NullableText = z.string().nullable()
export const DRIFT_KINDS = ['Version', 'Missing', 'Unexpected', 'Image', 'Values'] as const

const VersionDriftItem = namedRecord('VersionDriftItem', {
  name: z.string(),
  expectedVersion: z.string().describe('Empty where nothing is expected'),
  runningVersion: NullableText,
  desiredDigest: NullableText.describe('Of the chart, as the release feed first had it'),
  runningDigest: NullableText.describe('Of the chart that is installed'),
  kind: z.enum(DRIFT_KINDS),
  message: z.string(),
})
type VersionDriftItem = z.output<typeof VersionDriftItem>
const VersionDriftDto = namedRecord('VersionDriftDto', { checkedAt: DateTime, components: z.array(VersionDriftItem) })

const DependencyGraphDto = namedRecord('DependencyGraphDto', {
  nodes: z.array(
    namedRecord('DependencyNode', {
      name: z.string(),
      kind: z.enum(COMPONENT_KINDS),
      installedVersion: NullableText,
      isInstalled: z.boolean(),
    }),
  ),
  edges: z.array(
    namedRecord('DependencyEdge', {
      from: z.string(),
      to: z.string(),
      constraint: NullableText,
      kind: z.enum(['DependsOn', 'Pins']),
    }),
  ),
})

/** Returns how a component differs from what installs and rollouts wrote; undefined while a change is in progress. */
export function driftOf(
  { metadata, spec, status = {} }: ComponentRecord,
  inventory: ComponentInventory,
): VersionDriftItem | undefined {
  if (status.state === 'Installing' || status.state === 'Upgrading') return undefined
  const running = status.installedVersion
  const release = inventory.releases.find(
    (one) => one.spec.component === metadata.name && one.spec.version === spec.version,
  )
  const found = (kind: VersionDriftItem['kind'], message: string): VersionDriftItem => ({
    name: metadata.name,
    expectedVersion: spec.version ?? '',
    runningVersion: running ?? null,
    desiredDigest: release?.spec.digest ?? null,
    runningDigest: status.digest ?? null,
    kind,
    message,
  })
  if (spec.version === undefined)
    return running === undefined || status.isManaged !== true
      ? undefined
      : found('Unexpected', `Version ${running} is installed, and none is wanted.`)
  if (running === undefined) return found('Missing', `Version ${spec.version} is wanted, and none is installed.`)
  const missingCount = spec.workloads.length - (status.workloads ?? []).length
  if (missingCount > 0)
    return found(
      'Missing',
      `${missingCount} of its ${pluralize(spec.workloads.length, 'workload')} ${pluralizeVerb(spec.workloads.length, 'is', 'are')} missing.`,
    )
  if (!isSameVersion(running, spec.version))
    return found('Version', `Version ${spec.version} is wanted, and ${running} is installed.`)
  if (release !== undefined && status.digest !== undefined && status.digest !== release.spec.digest)
    return found('Image', 'The installed chart is not the one that the release feed first had.')
  if (status.wantedConfigDigest !== undefined && status.wantedConfigDigest !== status.configDigest)
    return found('Values', 'The installed values are not the wanted ones.')
  return undefined
}

async function drift(context: Context) {
  const inventory = await readInventory(context)
  const components = inventory.components.flatMap((component) => driftOf(component, inventory) ?? [])
  components.sort((one, other) => compareTexts(one.name, other.name))
  return ok({ checkedAt: timestamp(context.services.clock.now()), components })
}

async function dependencies(context: Context) {
  const inventory = await readInventory(context)
  const sorted = [...inventory.components].sort((one, other) => compareTexts(one.metadata.name, other.metadata.name))
  return ok({
    nodes: sorted.map(({ metadata: { name }, spec: { kind }, status }) => {
      const installedVersion = status?.installedVersion ?? null
      return { name, kind, installedVersion, isInstalled: installedVersion !== null }
    }),
    edges: sorted.flatMap((component) => [
      ...component.spec.dependsOn.map(({ name: to, constraint = null }) => {
        return { from: component.metadata.name, to, constraint, kind: 'DependsOn' as const }
      }),
      ...Object.entries(currentRelease(component, inventory)?.spec.pins ?? {}).map(([to, version]) => {
        return { from: component.metadata.name, to, constraint: version, kind: 'Pins' as const }
      }),
    ]),
  })
}

export const driftRoutes: readonly RouteDraft[] = [
  route('GET', '/lifecycle/drift', {
    auth: view,
    summary: 'Where the running components differ from the wanted ones',
    reply: VersionDriftDto,
    handler: drift,
  }),
  route('GET', '/lifecycle/dependencies', {
    auth: view,
    summary: 'Which component needs which',
    reply: DependencyGraphDto,
    handler: dependencies,
  }),
]
