import type { PlatformKeys } from '../../adapters/platformkeys/port.ts'
import type { Outcome } from '../../core/outcome.ts'
import type { DiskShare } from '../../core/sizing/disk.ts'
import type { EffectivePlan } from '../../core/sizing/plans.ts'
import { type ContainerInstance, completeInstance } from '../../crds/containerinstances.ts'
import type { RouteVerdict } from '../../desired/workload/host.ts'
import type { LiveDeployment } from '../../desired/workload/trouble.ts'
import type { Pass } from '../engine/controller.ts'
import { newWorkloadState, over, type WorkloadState } from '../workload/pass.ts'

/** What the controller of container instances is given by the composition root. */
export type ContainerOptions = {
  keys: PlatformKeys
  /** The namespace that Velero is in. */
  backupNamespace: string
  /** Of the platform's own registry; absent without one. */
  registryHost?: string | undefined
  /** What a container may write to its node; `DISK_SHARE`. */
  disk?: DiskShare | undefined
}

/** What steps of one pass hand on. Each field is set by the step named, and read by later ones only. */
export type InstanceState = WorkloadState & {
  /** resolveComponents: by component. */
  plans: Map<string, EffectivePlan>
  /** claimHosts: the host of its own, and those of the caller. */
  host: string | undefined
  domains: readonly string[]
  /** keepVolumes: why volumes are not as asked for. */
  volumes: Outcome | undefined
  /** keepBackups: why backups are not as asked for. */
  backup: Outcome | undefined
  /** keepValues: versions of what the Secrets hold, by name; the pull Secret if there is one. */
  versions: Map<string, string>
  pullSecret: string | undefined
  /** keepIdentity: the Secret with the credentials of its identity, if it has one. */
  identitySecret: string | undefined
  /** keepRevisions */
  revisions: Readonly<Record<string, number>>
  /** applyWorkload: by component. */
  deployments: Map<string, LiveDeployment>
  heldBack: { component: string; by: string } | undefined
  route: RouteVerdict | undefined
}

export function newInstanceState(): InstanceState {
  return {
    ...newWorkloadState(),
    plans: new Map(),
    host: undefined,
    domains: [],
    volumes: undefined,
    backup: undefined,
    versions: new Map(),
    pullSecret: undefined,
    identitySecret: undefined,
    revisions: {},
    deployments: new Map(),
    heldBack: undefined,
    route: undefined,
  }
}

type StoredPass = Pass<typeof ContainerInstance, InstanceState>
/** A pass over an instance with what its absent fields mean. */
export type InstancePass = Omit<StoredPass, 'object'> & { readonly object: ContainerInstance }
export type InstanceStep = (pass: InstancePass) => Outcome | Promise<Outcome>
export type CachedInstance = StoredPass['object'] & { [key: string]: unknown }

export function wholePass(pass: StoredPass): InstancePass {
  return { ...pass, object: completeInstance(pass.object) }
}

/** The step as the engine takes it. */
export const overWhole = over(wholePass)
