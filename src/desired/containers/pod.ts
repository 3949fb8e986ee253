import { substituteParameters } from '../../contracts/containerinstances.ts'
import { pullSecretsOf } from '../../contracts/registry/names.ts'
import { addVolumeSizes, type DiskShare } from '../../core/sizing/disk.ts'
import type { EffectivePlan } from '../../core/sizing/plans.ts'
import type { ComponentSpec, ProbeSpec, VolumeSpec } from '../../crds/containerFields.ts'
import { type MountedSecret, secretMount, secretVolume } from '../workload/mountedSecrets.ts'
import { literal, restrictedContainer, restrictedPod, secretVariable } from '../workload/pod.ts'

export type ComponentPod = {
  component: ComponentSpec
  volumes: readonly VolumeSpec[]
  plan: EffectivePlan
  parameters: Readonly<Record<string, string>>
  /** Selector of the component's pods. */
  selector: Readonly<Record<string, string>>
  /** Returns the claim name of a volume. */
  claimOf: (volume: string) => string
  /** The Secret with values from vaults and other resources, keyed by variable name. */
  valuesSecret: string
  /** The Secret with the content of Secret volumes, keyed by volume name. */
  filesSecret: string
  pullSecret: string | undefined
  /** Host of the platform's own registry, which needs no credential of the caller. */
  registryHost: string | undefined
  /** Limit for what a container writes to its node outside of volumes. */
  disk: DiskShare
  secrets: readonly MountedSecret[]
  /** Selectors of pods that must share a node, because they mount a volume that only one node can attach. */
  colocatedWith: readonly object[]
}

/** Group that owns the volumes if the image chooses its own user. */
const VOLUME_GID = 65_532

/** Returns the pod of one component. Its root filesystem is writable, because images may expect that. */
export function componentPod(input: ComponentPod): object {
  const { component, pullSecret, registryHost, colocatedWith, selector } = input
  const { runAsUser } = component
  const spread = (topologyKey: string) => ({
    maxSkew: 1,
    topologyKey,
    whenUnsatisfiable: 'ScheduleAnyway',
    labelSelector: { matchLabels: selector },
  })
  const together = colocatedWith.map((labelSelector) => ({ labelSelector, topologyKey: 'kubernetes.io/hostname' }))
  const own = pullSecret === undefined ? [] : [{ name: pullSecret }]
  const pullSecrets = [...own, ...pullSecretsOf(component.image, registryHost)]
  const identity = { user: runAsUser, fsGroup: runAsUser ?? VOLUME_GID }
  return restrictedPod(identity, {
    terminationGracePeriodSeconds: component.gracePeriodSeconds + (isServing(component) ? PRE_STOP_SLEEP_SECONDS : 0),
    ...(together.length === 0
      ? { topologySpreadConstraints: [spread('kubernetes.io/hostname'), spread('topology.kubernetes.io/zone')] }
      : { affinity: { podAffinity: { requiredDuringSchedulingIgnoredDuringExecution: together } } }),
    ...(pullSecrets.length === 0 ? {} : { imagePullSecrets: pullSecrets }),
    containers: [container(input)],
    volumes: podVolumes(input),
  })
}

function container(input: ComponentPod): object {
  const { component, parameters, plan, valuesSecret, secrets } = input
  const filled = (text: string) => literal(substituteParameters(text, parameters))
  const { name, image, command, args, env, ports, mounts, imagePullPolicy } = component
  return restrictedContainer(
    plan,
    {
      name,
      image,
      imagePullPolicy,
      ...(command.length > 0 && { command: command.map(filled) }),
      ...(args.length > 0 && { args: args.map(filled) }),
      env: env.map(({ name: variable, value }) =>
        value === undefined
          ? secretVariable(variable, valuesSecret, variable)
          : { name: variable, value: filled(value) },
      ),
      ports: ports.map(({ name: port, port: containerPort, protocol }) => ({
        name: port,
        containerPort,
        protocol: protocol.toUpperCase(),
      })),
      ...probesOf(component),
      volumeMounts: [
        ...mounts.map(({ volume, path, subPath, readOnly }) => ({
          name: volume,
          mountPath: path,
          ...(subPath !== undefined && { subPath }),
          ...(readOnly && { readOnly }),
        })),
        ...secrets.map(secretMount),
      ],
      ...(isServing(component) && { lifecycle: { preStop: { sleep: { seconds: PRE_STOP_SLEEP_SECONDS } } } }),
    },
    { writesToRoot: true, disk: diskRequestOf(input) },
  )
}

/** Returns undefined if the namespace's default applies. Ephemeral volumes with a size come on top of it. */
function diskRequestOf({ component, volumes, disk }: ComponentPod): DiskShare | undefined {
  const sizes = mountedVolumes(component, volumes).flatMap(({ kind, size }) =>
    kind === 'Ephemeral' && size !== undefined ? [size] : [],
  )
  return sizes.length === 0 ? undefined : addVolumeSizes(disk, sizes)
}

const mountedVolumes = ({ mounts }: ComponentSpec, volumes: readonly VolumeSpec[]) =>
  volumes.filter(({ name }) => mounts.some(({ volume }) => volume === name))

/**
 * Seconds for which a copy keeps answering after it was told to stop: endpoints and gateways learn of it with a delay
 * (Traefik batches changes for two seconds).
 */
const PRE_STOP_SLEEP_SECONDS = 10
const isServing = ({ ports }: ComponentSpec) => ports.length > 0

function probesOf({ livenessProbe, readinessProbe, startupProbe, ports }: ComponentSpec): object {
  const first = ports.find(({ protocol }) => protocol === 'Tcp')?.port
  const probes = Object.entries({ livenessProbe, readinessProbe, startupProbe })
  return Object.fromEntries(
    probes.flatMap(([name, probe]) => (probe === undefined ? [] : [[name, probeOf(probe, first)]])),
  )
}

function probeOf({ kind, path = '/', port, command, ...times }: ProbeSpec, first: number | undefined): object {
  const target = port ?? first
  const action = {
    Http: { httpGet: { path, port: target } },
    Tcp: { tcpSocket: { port: target } },
    Exec: { exec: { command } },
  }[kind]
  return { ...action, ...times }
}

function podVolumes({ component, volumes, claimOf, filesSecret, secrets }: ComponentPod): object[] {
  const mounted = mountedVolumes(component, volumes)
  const ofVolume = ({ name, kind, size, secret }: VolumeSpec) => {
    if (kind === 'Persistent') return { name, persistentVolumeClaim: { claimName: claimOf(name) } }
    if (kind === 'Ephemeral') return { name, emptyDir: size === undefined ? {} : { sizeLimit: size } }
    const items = [{ key: name, path: secret?.secretName ?? name }]
    return { name, secret: { secretName: filesSecret, items, defaultMode: 0o440 } }
  }
  return [...mounted.map(ofVolume), ...secrets.map(secretVolume)]
}
