import { containerNamesOf } from '../../contracts/containerinstances.ts'
import type { WantedRevision } from '../../contracts/revisions.ts'
import { done, type Outcome } from '../../core/outcome.ts'
import { DISK_SHARE } from '../../core/sizing/disk.ts'
import type { ComponentSpec } from '../../crds/containerFields.ts'
import { type InstanceContent, podContentByComponent, revisionContentOf } from '../../crds/containerRevisions.ts'
import { sortByDependencies } from '../../crds/containerRules.ts'
import {
  componentDeployment,
  type InstanceInput,
  instanceAuxiliaryChildren,
  instanceShared,
} from '../../desired/containers/index.ts'
import { identityFiles } from '../../desired/workload/mountedSecrets.ts'
import { isDeployed, type LiveDeployment } from '../../desired/workload/podProblems.ts'
import { deployment, ingress, networkPolicy, podDisruptionBudget, service } from '../../kube/builtin.ts'
import { certificate } from '../../kube/certmanager.ts'
import { httpRoute } from '../../kube/gateway.ts'
import { pruneChildren, writeChildren } from '../workload/children.ts'
import { gatewayOf } from '../workload/cluster.ts'
import { routeAcceptance } from '../workload/hosts.ts'
import { keepRevision } from '../workload/revisions.ts'
import { isShared } from './resolve.ts'
import type { ContainerOptions, InstancePass, InstanceStep } from './types.ts'

/** Numbers the revision of the spec, if it is new. */
export async function keepRevisions(pass: InstancePass): Promise<Outcome> {
  const { spec } = pass.object
  const wanted: WantedRevision<InstanceContent> = {
    content: revisionContentOf(spec),
    redeployedAt: spec.redeployedAt,
    parts: podContentByComponent,
    restorable: ({ volumes: _, ...rest }) => rest,
  }
  pass.state.revisions = (await keepRevision(pass, containerNamesOf(pass.object).revision, wanted)).since
  return done()
}

/** Pod settings that do not come from the resource. */
type PodOptions = Pick<ContainerOptions, 'registryHost' | 'disk'>

const PRUNED = [service, ingress, httpRoute, networkPolicy, podDisruptionBudget, certificate]

/** Writes the children, and each Deployment once its dependencies are ready. */
export function applyWorkload(
  options: PodOptions,
  more: (pass: InstancePass) => Pick<InstanceInput, 'traffic'> = () => ({}),
): InstanceStep {
  return async function applyWorkload(pass) {
    const input = { ...instanceInputOf(pass, options), ...more(pass) }
    const surroundings = instanceAuxiliaryChildren(input)
    pass.state.route = routeAcceptance(input.gateway, await writeChildren(pass, surroundings))
    for (const component of sortByDependencies(pass.object.spec.components))
      await applyComponent(pass, input, component)
    const names = pass.object.spec.components.map(({ name }) => input.names.component(name))
    await pass.children.prune(deployment, names)
    await pruneChildren(pass, surroundings, PRUNED)
    return done()
  }
}

async function applyComponent(pass: InstancePass, input: InstanceInput, component: ComponentSpec): Promise<void> {
  const { object, state } = pass
  const unready = component.dependsOn.find((name) => !isDeployed(state.deployments.get(name)))
  // Stopping does not wait for dependencies: everything stops at once.
  if (unready !== undefined && object.spec.running) {
    state.waitingComponent ??= { component: component.name, by: unready }
    const held = await pass.children.get<LiveDeployment>(
      deployment,
      input.namespace,
      input.names.component(component.name),
    )
    // A held-back component does not count as deployed, whatever version of it runs.
    if (held !== undefined)
      state.deployments.set(component.name, { ...held, status: { ...held.status, observedGeneration: 0 } })
    return
  }
  const wanted = componentDeployment(input, component)
  const { object: stored } = await pass.children.ensure(wanted, { resource: deployment })
  state.deployments.set(component.name, stored as LiveDeployment)
}

export function instanceInputOf(
  pass: InstancePass,
  { registryHost, disk = DISK_SHARE }: PodOptions = {},
): InstanceInput {
  const { object, state, workloads } = pass
  const shared = instanceShared(object)
  const issuer = workloads.isServed(certificate) ? state.cluster?.spec.certificateIssuer : undefined
  return {
    ...shared,
    instance: object,
    plans: state.plans,
    revisions: state.revisions,
    versionOf: (name) => state.versions.get(name),
    secrets: identityFiles(state.identitySecret),
    pullSecret: state.pullSecret,
    registryHost,
    disk,
    isShared: ({ storageClass }) => isShared(workloads, storageClass),
    certificateIssuer: issuer,
    host: state.host,
    domains: state.domains.map((host) => ({
      host,
      secretName: issuer === undefined ? undefined : shared.names.certificate(host),
    })),
    ingressClassName: state.cluster?.spec.ingressClassName,
    gateway: gatewayOf(pass),
  }
}
