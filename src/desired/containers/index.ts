import {
  COMPONENT_LABEL,
  type containerNames,
  containerNamesOf,
  REVISION_LABEL,
} from '../../contracts/containerinstances.ts'
import { pullPolicyOf } from '../../contracts/registry/names.ts'
import { PREFIX } from '../../core/labels.ts'
import type { KubeObject } from '../../core/object.ts'
import type { DiskShare } from '../../core/sizing/disk.ts'
import type { EffectivePlan } from '../../core/sizing/plans.ts'
import type { ComponentSpec, VolumeSpec } from '../../crds/containerFields.ts'
import type { ContainerInstance } from '../../crds/containerinstances.ts'
import { publicTarget } from '../../crds/containerRules.ts'
import { type Child, child, type WorkloadInput, workloadInput } from '../workload/child.ts'
import { certificates, type Hosted, httpRoute, ingress, proxyPeers } from '../workload/host.ts'
import type { MountedSecret } from '../workload/mountedSecrets.ts'
import { allowIngress, networkPolicy, podDisruptionBudget, service, servicePort } from '../workload/network.ts'
import { deployment, RESTARTED_AT_ANNOTATION } from '../workload/pod.ts'
import { componentPod } from './pod.ts'

/** On a pod template: the version of the Secrets' content that the pods use. A new version triggers a rollout. */
const VALUES_ANNOTATION = `${PREFIX}values`

/** On volume claims: the volume's name in the resource. */
export const VOLUME_LABEL = `${PREFIX}volume`

/** Everything that the children of a container instance depend on, resolved beforehand. */
export type InstanceInput = WorkloadInput<ReturnType<typeof containerNames>> &
  Hosted & {
    instance: ContainerInstance
    plans: ReadonlyMap<string, EffectivePlan>
    /** By component: the revision since which it is unchanged. */
    revisions: Readonly<Record<string, number>>
    /** Returns the version of the content of a Secret that pods use. */
    versionOf: (secretName: string) => string | undefined
    secrets: readonly MountedSecret[]
    pullSecret: string | undefined
    registryHost: string | undefined
    disk: DiskShare
    isShared: (volume: VolumeSpec) => boolean
    /** The cluster's issuer; without one no certificates are requested. */
    certificateIssuer: string | undefined
  }

export function instanceShared(instance: ContainerInstance) {
  const { spec } = instance
  const withoutComponents = { ...instance, spec: { allowedCidrs: spec.allowedCidrs } }
  return workloadInput(withoutComponents, containerNamesOf(instance), 'container')
}

/** Narrows selector and labels to one component. */
function ofComponent<Input extends WorkloadInput>(input: Input, name: string): Input {
  const own = { [COMPONENT_LABEL]: name }
  return { ...input, selector: { ...input.selector, ...own }, labels: { ...input.labels, ...own } }
}

/** Returns all children but volumes, Secrets and Deployments, which have an order of their own. The rest is pruned. */
export function instanceAuxiliaryChildren(input: InstanceInput): KubeObject[] {
  const { names, instance } = input
  const { components, running } = instance.spec
  const target = input.host === undefined ? undefined : publicTarget(instance.spec)
  const objects = [
    ...components.map((component) => componentService(input, component)),
    ...components.map(({ name, replicas }) =>
      podDisruptionBudget(ofComponent(input, name), names.component(name), running ? replicas : 0),
    ),
    ...(target === undefined ? [] : publicChildren(input, target)),
  ]
  return objects.filter((object) => object !== undefined)
}

function componentService(input: InstanceInput, { name, ports }: ComponentSpec): Child<'Service'> | undefined {
  if (ports.length === 0) return undefined
  return service(ofComponent(input, name), input.names.component(name), {
    type: 'ClusterIP',
    ...(input.traffic?.sessionAffinity && { sessionAffinity: 'ClientIP' }),
    ports: ports.map((port) => servicePort(port.name, port.port, port.name, port.protocol === 'Udp' ? 'UDP' : 'TCP')),
  })
}

/** Routes the public host to its component. Within the group, all ports are reachable. */
function publicChildren(input: InstanceInput, { component, port }: NonNullable<ReturnType<typeof publicTarget>>) {
  const { names } = input
  const backend = {
    name: names.whole,
    service: names.component(component.name),
    port: { name: port.name, number: port.port },
  }
  const { selector } = ofComponent(input, component.name)
  const rules = [allowIngress(proxyPeers(input), [port.port])]
  return [
    networkPolicy(input, names.whole, { rules, selector }),
    ingress(input, backend),
    httpRoute(input, backend),
    ...certificates(input, input.certificateIssuer),
  ].filter((object) => object !== undefined)
}

export function componentDeployment(input: InstanceInput, component: ComponentSpec): Child<'Deployment'> {
  const { instance, names, revisions, versionOf } = input
  const { spec } = instance
  const { name } = component
  const valuesSecret = names.values(name)
  const [values, files] = [
    versionOf(valuesSecret),
    mountsSecret(component, spec.volumes) ? versionOf(names.files) : undefined,
  ]
  const version = [values, files].filter((one) => one !== undefined).join(' ')
  const own = ofComponent(input, name)
  return deployment(own, {
    name: names.component(name),
    replicas: spec.running ? component.replicas : 0,
    labels: { [REVISION_LABEL]: String(revisions[name] ?? 0) },
    annotations: {
      ...(version === '' ? {} : { [VALUES_ANNOTATION]: version }),
      ...(spec.restartedAt === undefined ? {} : { [RESTARTED_AT_ANNOTATION]: spec.restartedAt }),
    },
    pod: podOf(input, component),
  })
}

export function podOf(input: InstanceInput, component: ComponentSpec) {
  const { instance, names, plans, secrets, pullSecret, registryHost, disk, isShared } = input
  const { spec } = instance
  const plan = plans.get(component.name)
  if (plan === undefined) throw new Error(`The plan of component "${component.name}" was not resolved.`)
  const { namespace = '' } = instance.metadata
  const imagePullPolicy = pullPolicyOf(component.image, registryHost, namespace) ?? component.imagePullPolicy
  return componentPod({
    component: { ...component, imagePullPolicy },
    volumes: spec.volumes,
    plan,
    parameters: spec.parameters,
    selector: ofComponent(input, component.name).selector,
    claimOf: names.volume,
    valuesSecret: names.values(component.name),
    filesSecret: names.files,
    pullSecret,
    registryHost,
    disk,
    secrets,
    colocatedWith: spec.volumes
      .filter((volume) => volume.kind === 'Persistent' && !isShared(volume) && mountsOf(component, volume.name))
      .map((volume) => mounterSelector(input, volume.name)),
  })
}

const mountsOf = ({ mounts }: ComponentSpec, volume: string) => mounts.some((mount) => mount.volume === volume)

function mountsSecret(component: ComponentSpec, volumes: readonly VolumeSpec[]): boolean {
  return volumes.some(({ kind, name }) => kind === 'Secret' && mountsOf(component, name))
}

function mounterSelector({ instance, selector }: InstanceInput, volume: string): object {
  const values = instance.spec.components.filter((component) => mountsOf(component, volume)).map(({ name }) => name)
  return { matchLabels: selector, matchExpressions: [{ key: COMPONENT_LABEL, operator: 'In', values }] }
}

/** Returns the claim of a Persistent volume. It is immutable except for its size. */
export function volumeClaim(
  input: Pick<InstanceInput, 'namespace' | 'labels' | 'names'>,
  { name, size = '', storageClass }: VolumeSpec,
  accessMode: 'ReadWriteOnce' | 'ReadWriteMany',
): Child<'PersistentVolumeClaim'> {
  return child(
    input,
    {
      apiVersion: 'v1',
      kind: 'PersistentVolumeClaim',
      name: input.names.volume(name),
      labels: { [VOLUME_LABEL]: name },
    },
    {
      spec: {
        accessModes: [accessMode],
        ...(storageClass === undefined ? {} : { storageClassName: storageClass }),
        resources: { requests: { storage: size } },
        volumeMode: 'Filesystem',
      },
    },
  )
}
