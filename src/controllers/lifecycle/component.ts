import { neededValues } from '../../contracts/componentValues.ts'
import { configKey, PLATFORM_COMPONENT, releaseName } from '../../contracts/lifecycle.ts'
import { SYSTEM_NAMESPACE } from '../../core/names.ts'
import { type KubeObject, keyOf, type Resource } from '../../core/object.ts'
import { degraded, done, type Outcome, stalled, waiting } from '../../core/outcome.ts'
import { ComponentRelease, PlatformComponent } from '../../crds/lifecycle.ts'
import { fluxName, helmReleaseOf, ociRepositoryOf } from '../../desired/lifecycle/flux.ts'
import {
  type ComponentJudgement,
  type HelmRelease,
  judgeComponent,
  type OciRepository,
} from '../../desired/lifecycle/judge.ts'
import { observedWorkload } from '../../desired/lifecycle/workloads.ts'
import { daemonSet, deployment, statefulSet } from '../../kube/builtin.ts'
import { FLUX_RESOURCES, helmRelease, ociRepository } from '../../kube/flux.ts'
import { controllerWith, type Observed, type Rights, steps, type Workspace } from '../engine/controller.ts'
import { CONFIGURATION_RIGHTS, storedConfiguration } from './configuration.ts'
import { readFeed } from './feed.ts'
import type { ComponentObject } from './storedObjects.ts'
import type { ComponentPass, LifecycleOptions } from './types.ts'

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
