import { z } from 'zod'
import type { Credentials } from '../../contracts/sources/providers.ts'
import { ReasonedError } from '../../core/failure.ts'
import type { DeploymentSource } from '../../crds/sources.ts'

type Spec = DeploymentSource['spec']
type Status = NonNullable<DeploymentSource['status']>

/** Everything needed to call a provider for a source; `hostKey` is the host key trusted on first use over ssh. */
export type Connection = Readonly<
  Pick<Spec, 'provider' | 'baseUrl' | 'organization' | 'username' | 'installationId'> & Pick<Status, 'hostKey'>
> & { readonly credentials: Credentials }

export function connectionTo(
  { spec, status }: Pick<DeploymentSource, 'spec' | 'status'>,
  credentials: Credentials,
): Connection {
  const { provider, baseUrl, organization, username, installationId } = spec
  return { provider, baseUrl, organization, username, installationId, credentials, hostKey: status?.hostKey }
}

/**
 * The token of the platform's own Git host goes to no other address, whatever kubectl wrote.
 *
 * @param ownHost address of that host; undefined without one
 * @throws SourceError
 */
export function requireOwnHost({ provider, baseUrl }: Connection, ownHost: string | undefined): void {
  if (provider === 'Circuit' && baseUrl !== ownHost)
    throw new SourceError('NotAllowed', 'The Git host of the deployment source is not the one of this platform.')
}

/** Account data from the provider; over ssh, the host key that was shown. */
export type CheckedAccount = Pick<Status, 'accountName' | 'accountType' | 'hostKey' | 'installation'>

export const Repository = z.object({
  id: z.string(),
  name: z.string(),
  fullName: z.string(),
  owner: z.string(),
  url: z.string(),
  cloneUrl: z.string(),
  defaultBranch: z.string(),
  isPrivate: z.boolean(),
  isArchived: z.boolean(),
  description: z.string().nullable(),
  language: z.string().nullable(),
  pushedAt: z.string().nullable(),
})
export type Repository = z.output<typeof Repository>

/** Repositories that one request returns at most. */
export const REPOSITORIES_MAX = 1000

export const RepositoryToken = z.object({
  token: z.string(),
  username: z.string(),
  cloneUrl: z.string(),
  expiresAt: z.string().nullable(),
  permissions: z
    .record(z.string(), z.string())
    .describe('repositories is "one", or "all" where the provider makes no token for a single repository'),
})
export type RepositoryToken = z.output<typeof RepositoryToken>

/** Target and signing secret of a webhook. */
export type WebhookTarget = { readonly url: string; readonly secret: string }

export const Webhook = z.object({
  url: z.string(),
  isActive: z.boolean(),
  events: z.array(z.string()),
  lastDeliveryAt: z.string().nullable(),
  lastDeliveryStatus: z.int().nullable(),
  created: z.boolean().describe('Whether it is new'),
})
export type Webhook = z.output<typeof Webhook>

export type NewRepository = {
  name: string
  description: string
  isPrivate: boolean
  defaultBranch: string
  /** Creates a first commit. */
  initialize: boolean
  /** A public repository to import. */
  importUrl?: string | undefined
}

/** An App that GitHub created from a manifest. */
export type CreatedApp = { credentials: Credentials; slug: string; htmlUrl: string }

export const RegistryVerdict = z.object({
  isReachable: z.boolean(),
  isAuthenticated: z.boolean(),
  canPull: z.boolean(),
  digest: z.string().nullable(),
  message: z.string().nullable(),
})
export type RegistryVerdict = z.output<typeof RegistryVerdict>

/** Calls to all providers. Every address must pass the rules for outgoing calls. */
export interface SourcePort {
  /** Signs in. @throws SourceError */
  check(connection: Connection, signal?: AbortSignal): Promise<CheckedAccount>
  /** Returns at most 1000. @throws SourceError */
  repositories(connection: Connection, search?: string, signal?: AbortSignal): Promise<Repository[]>
  /** Returns a token to read one repository. @throws SourceError Unsupported if the credentials are no token */
  token(connection: Connection, repositoryId: string, signal?: AbortSignal): Promise<RepositoryToken>
  /** Creates or updates the webhook of a repository. @throws SourceError Unsupported */
  ensureWebhook(
    connection: Connection,
    repositoryId: string,
    hook: WebhookTarget,
    signal?: AbortSignal,
  ): Promise<Webhook>
  /** For Git hosts that the platform runs. @throws SourceError NameTaken */
  createRepository(connection: Connection, repository: NewRepository, signal?: AbortSignal): Promise<Repository>
  /** Returns number and total size of all repositories. @throws SourceError */
  usage(connection: Connection, signal?: AbortSignal): Promise<{ repositoryCount: number; kilobytes: number }>
  /** Exchanges the code from GitHub for the App's credentials, and sets the secret that signs its deliveries. */
  makeApp(baseUrl: string, code: string, hook: WebhookTarget, signal?: AbortSignal): Promise<CreatedApp>
  /** Checks whether images can be pulled. @throws SourceError NotAllowed; all other failures are in the verdict */
  verifyRegistry(
    connection: Connection,
    image: { repository?: string | undefined; tag?: string | undefined },
    signal?: AbortSignal,
  ): Promise<RegistryVerdict>
}

/** The operations of one provider. No provider supports all of them. */
export type SourceProvider = Pick<SourcePort, 'check' | 'repositories' | 'token'> &
  Partial<Pick<SourcePort, 'ensureWebhook' | 'createRepository' | 'usage'>>

export type SourceReason =
  | 'CredentialRejected'
  | 'NotFound'
  | 'NameTaken'
  /** The platform does not call that address. */
  | 'NotAllowed'
  /** Over ssh: the host shows an unknown key. */
  | 'HostKeyRefused'
  /** No valid answer. */
  | 'Unreachable'
  /** The provider does not support this. */
  | 'Unsupported'

/** The message is our own, without text of the provider, and may be shown to users. */
export class SourceError extends ReasonedError<SourceReason> {}

/** The platform's own Git host, as its administrator: one account per source. */
export interface CircuitPort {
  /** Undefined if the platform has no Git host. */
  readonly baseUrl: string | undefined
  /**
   * Creates the account, or a new token for an existing one. Its other tokens end, except for `current`.
   *
   * @throws SourceError
   */
  openAccount(name: string, current?: string): Promise<{ token: string }>
  /** Deletes the account with all its content. Succeeds if it is gone. @throws SourceError */
  removeAccount(name: string): Promise<void>
}
