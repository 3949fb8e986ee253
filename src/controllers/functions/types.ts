import type { PlatformKeys } from '../../adapters/platformkeys/port.ts'
import type { Outcome } from '../../core/outcome.ts'
import type { FunctionNamespace, ServerlessFunction } from '../../crds/functions.ts'
import type { RouteVerdict } from '../../desired/workload/host.ts'
import type { LiveDeployment } from '../../desired/workload/trouble.ts'
import type { Pass } from '../engine/controller.ts'
import { newWorkloadState, type WorkloadState } from '../workload/pass.ts'

export type FunctionOptions = {
  keys: PlatformKeys
  /** Of the platform's own registry; absent without one. */
  registryHost?: string | undefined
}

/** What steps of one pass over a function hand on. */
export type FunctionState = WorkloadState & {
  /** findNamespace */
  around: CachedNamespace | undefined
  /** keepKeys: why a key of a trigger cannot be had. */
  keyObstacle: Outcome | undefined
  /** findIdentity: the Secret with the credentials of the identity of its namespace, if that has one. */
  identitySecret: string | undefined
  /** keepValues: the version of what its Secret holds, if it has one. */
  valuesVersion: string | undefined
  /** chooseImage: what is to be served, and of which deployment. */
  chosen: { image: string; deploymentId?: string; commit?: string | undefined } | undefined
  /** applyCopies */
  deployment: LiveDeployment | undefined
}

export const newFunctionState = (): FunctionState => ({
  ...newWorkloadState(),
  around: undefined,
  keyObstacle: undefined,
  identitySecret: undefined,
  valuesVersion: undefined,
  chosen: undefined,
  deployment: undefined,
})

export type CachedNamespace = FunctionNamespace & { [key: string]: unknown }
export type CachedFunction = ServerlessFunction & { [key: string]: unknown }
export type FunctionPass = Pass<typeof import('../../crds/functions.ts').ServerlessFunction, FunctionState>
export type FunctionStep = (pass: FunctionPass) => Outcome | Promise<Outcome>

export type NamespaceState = WorkloadState & {
  /** claimHosts: its own host, and those of the caller. */
  host: string | undefined
  domains: readonly string[]
  /** keepIdentity: the Secret with the credentials of its identity, if it has one. */
  identitySecret: string | undefined
  /** applyRoute */
  route: RouteVerdict | undefined
}

export const newNamespaceState = (): NamespaceState => ({
  ...newWorkloadState(),
  host: undefined,
  domains: [],
  identitySecret: undefined,
  route: undefined,
})

export type NamespacePass = Pass<typeof import('../../crds/functions.ts').FunctionNamespace, NamespaceState>
