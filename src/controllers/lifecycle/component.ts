import { FeedError } from '../../adapters/releases/port.ts'
import { neededValues } from '../../contracts/componentValues.ts'
import { compareSemver, configKey, PLATFORM_COMPONENT, releaseName } from '../../contracts/lifecycle.ts'
import { SYSTEM_NAMESPACE } from '../../core/names.ts'
import { type KubeObject, keyOf, type Resource, refOf } from '../../core/object.ts'
import { degraded, done, type Outcome, stalled, waiting } from '../../core/outcome.ts'
import { ComponentRelease, PlatformComponent } from '../../crds/lifecycle.ts'
import { fluxName, helmReleaseOf, ociRepositoryOf } from '../../desired/lifecycle/flux.ts'
import {
  type ComponentJudgement,
  type HelmRelease,
  judgeComponent,
  type OciRepository,
} from '../../desired/lifecycle/judge.ts'
import { releaseSpec } from '../../desired/lifecycle/release.ts'
import { observedWorkload } from '../../desired/lifecycle/workloads.ts'
import { daemonSet, deployment, statefulSet } from '../../kube/builtin.ts'
import { FLUX_RESOURCES, helmRelease, ociRepository } from '../../kube/flux.ts'
import { controllerWith, type Observed, type Rights, steps, type Workspace } from '../engine/controller.ts'
import { CONFIGURATION_RIGHTS, storedConfiguration } from './configuration.ts'
import type { ComponentObject } from './storedObjects.ts'
import type { ComponentPass, LifecycleOptions } from './types.ts'

type ReleaseObject = ComponentRelease & KubeObject
type Feed = NonNullable<NonNullable<PlatformComponent['status']>['feed']>

/** Number of newest versions that are recorded; rollouts skip none that they could need. */
const MAX_RECORDED_RELEASES = 20
/** Maximum recorded versions per component, besides those in use. */
const MAX_KEPT_RELEASES = 50
/** Number of versions that are fetched concurrently. */
const FETCH_CONCURRENCY = 5

/** Reads the chart's versions when due or requested, and records new ones. */
function readFeed({ feed, feedInterval }: LifecycleOptions) {
  return async function readFeed(pass: ComponentPass): Promise<Outcome> {
    const { spec, status } = pass.object
    if (spec.chart === undefined) return done()
    const remainingMs = feedDueIn(spec.refreshRequestedAt, status?.feed, feedInterval, pass.clock.now())
    if (remainingMs === undefined) return done()
    if (remainingMs > 0) return done({ after: remainingMs })
    const tried = { attemptedAt: pass.now, requestedAt: spec.refreshRequestedAt }
    try {
      const counts = await recordNew(pass, spec.chart.url, feed)
      pass.report({ feed: { readAt: pass.now, ...tried, ...counts } })
    } catch (error) {
      if (!(error instanceof FeedError)) throw error
      const { reason, message } = error
      const problem = { problem: message.slice(0, 1024), isUnreachable: reason === 'Unreachable' }
      pass.report({
        feed: { readAt: status?.feed?.readAt, known: status?.feed?.known, ...tried, found: 0, ...problem },
      })
    }
    return done({ after: feedInterval })
  }
}

/** Returns the milliseconds until the feed is read; undefined if it never is. */
export function feedDueIn(
  requestedAt: string | undefined,
  feed: Feed | undefined,
  interval: number | undefined,
  now: number,
): number | undefined {
  if (requestedAt !== feed?.requestedAt && requestedAt !== undefined) return 0
  if (interval === undefined) return undefined
  if (feed?.attemptedAt === undefined) return 0
  return Math.max(0, Date.parse(feed.attemptedAt) + interval - now)
}

async function recordNew(pass: ComponentPass, url: string, feed: LifecycleOptions['feed']) {
  const { name } = pass.object.metadata
  const { version } = pass.object.spec
  const held = pass.recordChildren.owned<ReleaseObject>(ComponentRelease.resource)
  const recorded = new Set(held.map(({ spec }) => spec.version))
  const versions = await feed.versions(url)
  const wanted = versions
    .filter((each, index) => index < MAX_RECORDED_RELEASES || each === version)
    .filter((each) => !recorded.has(each))
  let known = held.length
  for (let offset = 0; offset < wanted.length; offset += FETCH_CONCURRENCY) {
    const made = await Promise.all(
      wanted.slice(offset, offset + FETCH_CONCURRENCY).map((each) => recordOne(pass, url, each, feed)),
    )
    known += made.filter(Boolean).length
  }
  // Include versions recorded by a process that died before it reported them.
  const found = Math.max(0, known - (pass.object.status?.feed?.known ?? 0))
  known -= await removeOld(pass, held)
  pass.log.debug({ component: name, versions: versions.length, found }, 'The release feed was read.')
  return { found, known }
}

async function recordOne(
  pass: ComponentPass,
  url: string,
  version: string,
  feed: LifecycleOptions['feed'],
): Promise<boolean> {
  const component = pass.object.metadata.name
  const release = await feed.release(url, version)
  if (release === undefined) return false
  const { apiVersion, kind, resource } = ComponentRelease
  const metadata = { name: releaseName(component, version), namespace: SYSTEM_NAMESPACE }
  const made = await pass.recordChildren.create(
    { apiVersion, kind, metadata, spec: releaseSpec(component, release) },
    { resource },
  )
  return made !== undefined
}

async function removeOld(pass: ComponentPass, held: readonly ReleaseObject[]): Promise<number> {
  const { spec, status } = pass.object
  const newest = [...held].sort((one, other) => compareSemver(other.spec.version, one.spec.version))
  const isUsed = ({ spec: { version } }: ReleaseObject) =>
    version === spec.version || version === status?.installedVersion
  const old = newest.slice(MAX_KEPT_RELEASES).filter((one) => !isUsed(one))
  for (const release of old) {
    const { namespace, name } = refOf(release)
    await pass.recordChildren.remove(ComponentRelease.resource, namespace, name)
  }
  return old.length
}

const OUTSIDE = ' outside the cluster: whoever started it upgrades it, and Flux has no part in it'
const INSTALL_FLUX =
  'Charts are installed by Flux, whose helm-controller or source-controller is not in the cluster: an administrator installs both.'

const WORKLOADS: Readonly<Record<string, Resource>> = {
  Deployment: deployment,
  StatefulSet: statefulSet,
  DaemonSet: daemonSet,
}

/** Returns the components that observe a workload. */
function componentsOf({ kind, metadata }: KubeObject, records: Workspace): string[] {
  const isIt = ({ spec }: ComponentObject) =>
    spec.workloads.some(
      (one) =>
        one.kind === kind && one.name === metadata.name && (one.namespace ?? spec.namespace) === metadata.namespace,
    )
  return records.cache(PlatformComponent).list().filter(isIt).map(keyOf)
}

const workload = (resource: Resource): Observed => ({
  resource,
  in: 'workloads',
  keysOf: componentsOf,
  // Ignore status changes that the component does not show.
  relevant: observedWorkload,
})

const WRITES: readonly Rights[] = [
  ...FLUX_RESOURCES.map((resource) => ({ resource, verbs: ['create', 'patch'], in: 'system' as const })),
  { resource: ComponentRelease.resource, verbs: ['create', 'patch', 'delete'], in: 'system' },
  CONFIGURATION_RIGHTS,
]

/** Tells Flux which version of a chart to run, reads the release feed, and reports the progress. */
export const componentController = controllerWith(
  PlatformComponent,
  {
    observes: [
      ...FLUX_RESOURCES,
      ComponentRelease.resource,
      workload(deployment),
      workload(statefulSet),
      workload(daemonSet),
    ],
    writes: WRITES,
  },
  (options: LifecycleOptions) => ({
    reconcile: steps(readFeed(options), async function carryOut(pass: ComponentPass): Promise<Outcome> {
      const isApplied = await applyFluxObjects(pass, options)
      const judgement = await observeComponent(pass, options)
      const { after, ...shown } = judgement
      pass.report(shown)
      pass.serving(judgement.workloads?.some(({ ready }) => ready > 0) ?? false)
      return isApplied ? outcomeOf(pass, judgement) : stalled('EngineMissing', INSTALL_FLUX)
    }),
  }),
)

/** @returns false if Flux is not installed */
async function applyFluxObjects(pass: ComponentPass, { feed }: LifecycleOptions): Promise<boolean> {
  const { object, children, workloads, records } = pass
  const { version, chart } = object.spec
  if (version === undefined || chart === undefined) return true
  if (!FLUX_RESOURCES.every((resource) => workloads.isServed(resource))) return false
  const release = records.cache(ComponentRelease).get(SYSTEM_NAMESPACE, releaseName(object.metadata.name, version))
  const source = ociRepositoryOf(object, feed.locate(chart.url), release?.spec.digest)
  await children.ensure(source, { resource: ociRepository })
  await children.ensure(helmReleaseOf(object, await configuredValues(pass, release)), { resource: helmRelease })
  return true
}

/** Returns the values that are set: Flux fails on a key that the Secret does not have. */
async function configuredValues({ object, records }: ComponentPass, release: ComponentRelease | undefined) {
  const needed = neededValues(object, release)
  if (needed.length === 0) return []
  const { entries: held } = await storedConfiguration(records.client)
  return needed.filter(({ key }) => (held[configKey(object.metadata.name, key)] ?? '') !== '')
}

async function observeComponent(
  { object, children, workloads, now }: ComponentPass,
  options: LifecycleOptions,
): Promise<ComponentJudgement> {
  const name = fluxName(object.metadata.name)
  const ofFlux = async <T extends KubeObject>(resource: Resource) =>
    workloads.isServed(resource) ? children.get<T>(resource, SYSTEM_NAMESPACE, name) : undefined
  const found = object.spec.workloads.flatMap(({ kind, namespace = object.spec.namespace, name }) => {
    const workload = workloads.cache(WORKLOADS[kind] ?? deployment).get(namespace, name)
    return workload === undefined ? [] : [observedWorkload(workload)]
  })
  return judgeComponent({
    component: object,
    helm: await ofFlux<HelmRelease>(helmRelease),
    source: await ofFlux<OciRepository>(ociRepository),
    workloads: found,
    ownVersion: object.metadata.name === PLATFORM_COMPONENT ? options.ownVersion : undefined,
    now,
    settleMs: options.healthSettle,
  })
}

function outcomeOf(
  { object }: ComponentPass,
  { state, rollout, after, installedVersion, isOutside }: ComponentJudgement,
): Outcome {
  const message = rollout?.message ?? 'Helm is at work.'
  switch (state) {
    case 'Installing':
    case 'Upgrading':
      return waiting('RollingOut', `Version ${object.spec.version}: ${message}`, after)
    case 'NotInstalled':
      return done({ reason: 'Stopped', message: 'It is not installed.' })
    case 'Ready':
      return done({
        message: `Version ${installedVersion} runs${isOutside ? OUTSIDE : ''}.`,
        ...(after !== undefined && { after }),
      })
    case 'Failed':
      if (rollout?.state === 'Failed') return stalled('EngineRefused', `Version ${object.spec.version}: ${message}`)
      return degraded('PartiallyAvailable', 'None of its workloads is ready.')
    case 'Degraded':
      return degraded('PartiallyAvailable', 'Not all of its workloads are ready.')
  }
}
