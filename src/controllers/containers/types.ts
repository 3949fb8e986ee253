import type { PlatformKeys } from '../../adapters/platformkeys/port.ts'
import type { Outcome } from '../../core/outcome.ts'
import type { DiskShare } from '../../core/sizing/disk.ts'
import type { EffectivePlan } from '../../core/sizing/plans.ts'
import { type ContainerInstance, completeInstance } from '../../crds/containerinstances.ts'
import type { RouteAcceptance } from '../../desired/workload/host.ts'
import type { LiveDeployment } from '../../desired/workload/podProblems.ts'
import type { Pass } from '../engine/controller.ts'
import { newWorkloadState, stepAdapter, type WorkloadState } from '../workload/pass.ts'

/** Injected by the composition root. */
export type ContainerOptions = {
  keys: PlatformKeys
  /** Velero's namespace. */
  backupNamespace: string
  /** Host of the platform's own registry; absent without one. */
  registryHost?: string | undefined
  /** Local disk share of a container; defaults to `DISK_SHARE`. */
  disk?: DiskShare | undefined
}

/** State shared between the steps of a pass. Each field is set by the named step and read by later ones only. */
export type InstanceState = WorkloadState & {
  /** resolveComponents: by component. */
  plans: Map<string, EffectivePlan>
  /** claimHosts: the platform's host, and the custom domains. */
  host?: string | undefined
  domains: readonly string[]
  /** keepVolumes: why volumes are not as requested. */
  volumes?: Outcome | undefined
  /** keepBackups: why backups are not as requested. */
  backup?: Outcome | undefined
  /** keepValues: content versions by Secret name; the pull Secret, if any. */
  versions: Map<string, string>
  pullSecret?: string | undefined
  /** keepIdentity: the Secret with the identity's credentials, if any. */
  identitySecret?: string | undefined
  /** keepRevisions */
  revisions: Readonly<Record<string, number>>
  /** applyWorkload: by component. */
  deployments: Map<string, LiveDeployment>
  waitingComponent?: { component: string; by: string } | undefined
  route?: RouteAcceptance | undefined
}

export function newInstanceState(): InstanceState {
  return {
    ...newWorkloadState(),
    plans: new Map(),
    domains: [],
    versions: new Map(),
    revisions: {},
    deployments: new Map(),
  }
}

type StoredPass = Pass<typeof ContainerInstance, InstanceState>
/** A pass over an instance whose absent fields are filled with defaults. */
export type InstancePass = Omit<StoredPass, 'object'> & { readonly object: ContainerInstance }
export type InstanceStep = (pass: InstancePass) => Outcome | Promise<Outcome>
export type CachedInstance = StoredPass['object'] & { [key: string]: unknown }

export function withInstanceDefaults(pass: StoredPass): InstancePass {
  return { ...pass, object: completeInstance(pass.object) }
}

/** Adapts a step to the engine's passes. */
export const asStoredInstanceStep = stepAdapter(withInstanceDefaults)
