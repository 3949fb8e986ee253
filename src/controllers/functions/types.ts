import type { PlatformKeys } from '../../adapters/platformkeys/port.ts'
import type { Outcome } from '../../core/outcome.ts'
import type { FunctionNamespace, ServerlessFunction } from '../../crds/functions.ts'
import type { RouteAcceptance } from '../../desired/workload/host.ts'
import type { LiveDeployment } from '../../desired/workload/podProblems.ts'
import type { Pass } from '../engine/controller.ts'
import { newWorkloadState, type WorkloadState } from '../workload/pass.ts'

export type FunctionOptions = {
  keys: PlatformKeys
  /** Host of the platform's own registry; absent without one. */
  registryHost?: string | undefined
}

/** State shared between the steps of a pass over a function. */
export type FunctionState = WorkloadState & {
  /** findNamespace */
  functionNamespace?: CachedNamespace | undefined
  /** reportKeyDigests: why a trigger's key is not available. */
  keyObstacle?: Outcome | undefined
  /** findIdentity: the Secret with the credentials of the namespace's identity, if any. */
  identitySecret?: string | undefined
  /** keepValues: the content version of the function's Secret, if any. */
  valuesVersion?: string | undefined
  /** chooseImage: the image to serve, and its deployment. */
  servedImage?: { image: string; deploymentId?: string; commit?: string | undefined } | undefined
  /** applyCopies */
  deployment?: LiveDeployment | undefined
}

export type CachedNamespace = FunctionNamespace & { [key: string]: unknown }
export type CachedFunction = ServerlessFunction & { [key: string]: unknown }
export type FunctionPass = Pass<typeof import('../../crds/functions.ts').ServerlessFunction, FunctionState>
export type FunctionStep = (pass: FunctionPass) => Outcome | Promise<Outcome>

export type NamespaceState = WorkloadState & {
  /** claimHosts: the platform's host, and the custom domains. */
  host?: string | undefined
  domains: readonly string[]
  /** keepIdentity: the Secret with the identity's credentials, if any. */
  identitySecret?: string | undefined
  /** applyRoute */
  route?: RouteAcceptance | undefined
}

export const newNamespaceState = (): NamespaceState => ({
  ...newWorkloadState(),
  domains: [],
})

export type NamespacePass = Pass<typeof import('../../crds/functions.ts').FunctionNamespace, NamespaceState>
