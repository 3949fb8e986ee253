import type { GatewayPorts } from '../node/addresses.ts'
import type { OidcIssuer, Webhook } from './access.ts'
import type { Kubeconfig, KubeconfigContext } from './kubeconfig.ts'
import type { CertificatePair } from './pki.ts'
import type { ProcessCommand, ProcessRecord } from './processes.ts'
import type { Progress } from './progress.ts'
import type { SourceName } from './sources.ts'

/** What is simulated, as `dev.json` and `/version` report it. */
export type Simulated = 'nodes' | 'pods' | 'volumes' | 'load-balancers' | 'relational-engine'

/** What the API server asks webhooks; may change while it runs. */
export type AccessOptions = {
  oidc?: OidcIssuer | undefined
  authorizationWebhook?: Webhook | undefined
  /** Receives the audit log of our objects. Fixed while the API server runs. */
  auditWebhook?: Webhook | undefined
}

export type StartOptions = AccessOptions & {
  /** Holds data, certificates and logs; made when missing (0700). */
  folder: string
  /** A cluster that exists: nothing is started. */
  kubeconfig?: string | undefined
  /** Default true. False (tests) does not wait for the disk. */
  durable?: boolean
  /** Played nodes, default 1. */
  nodes?: number
  /** A real node instead of simulated ones; these ports of the platform are served on loopback here. */
  realNode?: { ports: readonly number[] } | undefined
  progress?: Progress
  /** Aborting it stops the start and everything that was started. */
  signal?: AbortSignal
  environment?: NodeJS.ProcessEnv
}

export type ControlPlane = {
  source: SourceName
  /** For example v1.36.3. */
  version: string
  simulated: readonly Simulated[]
  apiServerUrl: string
  /** Of the API server; empty when an existing cluster's certificate is signed by a public authority. */
  caPem: string
  /** Signs what `issueServingCertificate` gives. */
  servingCaPem: string
  /** Full rights (system:masters); of an existing cluster: the file that was named. */
  kubeconfigPath: string
  adminKubeconfig: Kubeconfig
  /** Ports on loopback that lead to the Gateway of a real node; undefined without one. */
  gateway?: GatewayPorts | undefined
  /** kubectl of the same version, if there is one. */
  kubectlPath: string | undefined
  /** A client certificate of the cluster's authority, good for a year. @throws Error on an existing cluster */
  issueClientCertificate(commonName: string, organizations?: readonly string[]): Promise<CertificatePair>
  /** A certificate for servers of ours (identity provider, webhooks), for these DNS names and addresses. */
  issueServingCertificate(names: readonly string[]): Promise<CertificatePair>
  /** Writes a kubeconfig (0600) for this API server. */
  writeKubeconfig(path: string, ...contexts: KubeconfigContext[]): Promise<void>
  /** Replaces the issuer (effective after 10 s) and the webhook (at once). @throws Error on an existing cluster */
  reconfigure(access: AccessOptions): Promise<void>
  /** Runs a process of ours beside it: logged, remembered, and stopped first. */
  startProcess(command: ProcessCommand): ProcessRecord
  processes: readonly ProcessRecord[]
  /** Rejects when a process exits unexpectedly, with the end of its log. Never resolves. */
  failed: Promise<never>
  /** Stops what was started; a second call waits for the first. */
  stop(): Promise<void>
}
