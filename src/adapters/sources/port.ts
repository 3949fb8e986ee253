import { z } from 'zod'
import type { Credentials } from '../../contracts/sources/providers.ts'
import { ReasonedError } from '../../core/failure.ts'
import type { DeploymentSource } from '../../crds/sources.ts'

type Spec = DeploymentSource['spec']
type Status = NonNullable<DeploymentSource['status']>

/** How one connection of a tenant is spoken to; `hostKey` is the one that a host showed first over ssh. */
export type Connection = Readonly<
  Pick<Spec, 'provider' | 'baseUrl' | 'organization' | 'username' | 'installationId'> & Pick<Status, 'hostKey'>
> & { readonly credentials: Credentials }

/** The connection that a source stands for. */
export function connectionTo(
  { spec, status }: Pick<DeploymentSource, 'spec' | 'status'>,
  credentials: Credentials,
): Connection {
  const { provider, baseUrl, organization, username, installationId } = spec
  return { provider, baseUrl, organization, username, installationId, credentials, hostKey: status?.hostKey }
}

/** What a provider says about whoever signs in, and of a host over ssh the key that it showed. */
export type Checked = Pick<Status, 'accountName' | 'accountType' | 'hostKey' | 'installation'>

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

/** The most repositories that one request reads. */
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

/** Where deliveries go, and what they are signed with. */
export type HookPlace = { readonly url: string; readonly secret: string }

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
  /** With a first commit. */
  initialize: boolean
  /** A public repository to begin from. */
  importUrl?: string | undefined
}

/** The App that GitHub made of a manifest. */
export type MadeApp = { credentials: Credentials; slug: string; htmlUrl: string }

export const RegistryVerdict = z.object({
  isReachable: z.boolean(),
  isAuthenticated: z.boolean(),
  canPull: z.boolean(),
  digest: z.string().nullable(),
  message: z.string().nullable(),
})
export type RegistryVerdict = z.output<typeof RegistryVerdict>

/** The operations of every provider. Every address must pass the rules for outgoing calls. */
export interface SourcePort {
  /** Signs in. @throws SourceError */
  check(connection: Connection, signal?: AbortSignal): Promise<Checked>
  /** At most 1000. @throws SourceError */
  repositories(connection: Connection, search?: string, signal?: AbortSignal): Promise<Repository[]>
  /** To read one repository with. @throws SourceError Unsupported where the credentials are no token */
  token(connection: Connection, repositoryId: string, signal?: AbortSignal): Promise<RepositoryToken>
  /** Makes the webhook of a repository, or repairs it. @throws SourceError Unsupported */
  ensureWebhook(connection: Connection, repositoryId: string, hook: HookPlace, signal?: AbortSignal): Promise<Webhook>
  /** Of a Git host that the platform runs. @throws SourceError NameTaken */
  createRepository(connection: Connection, repository: NewRepository, signal?: AbortSignal): Promise<Repository>
  /** Kilobytes of all repositories, and how many they are. @throws SourceError */
  usage(connection: Connection, signal?: AbortSignal): Promise<{ repositoryCount: number; kilobytes: number }>
  /** Turns the code that GitHub sent back into the App, whose deliveries are signed with the secret from then on. */
  makeApp(baseUrl: string, code: string, hook: HookPlace, signal?: AbortSignal): Promise<MadeApp>
  /** Whether images can be pulled. @throws SourceError NotAllowed alone: everything else is the answer */
  verifyRegistry(
    connection: Connection,
    image: { repository?: string | undefined; tag?: string | undefined },
    signal?: AbortSignal,
  ): Promise<RegistryVerdict>
}

/** One provider: what it can do. Nobody can do everything. */
export type SourceProvider = Pick<SourcePort, 'check' | 'repositories' | 'token'> &
  Partial<Pick<SourcePort, 'ensureWebhook' | 'createRepository' | 'usage'>>

export type SourceReason =
  | 'CredentialRejected'
  | 'NotFound'
  | 'NameTaken'
  /** The platform does not call that address. */
  | 'NotAllowed'
  /** Over ssh: the host shows another key than the known ones. */
  | 'HostKeyRefused'
  /** No answer, or none that can be read. */
  | 'Unreachable'
  /** The provider cannot do this. */
  | 'Unsupported'

/** The message is ours and may be shown: no text of the provider is in it. */
export class SourceError extends ReasonedError<SourceReason> {}

/** The Git host of the platform as its administrator: an account for each source. */
export interface CircuitPort {
  /** Where it is; undefined if the platform has none. */
  readonly baseUrl: string | undefined
  /** Makes the account, or a new token for it. @throws SourceError */
  openAccount(name: string): Promise<{ token: string }>
  /** With everything in it; an absent one is as wanted. @throws SourceError */
  removeAccount(name: string): Promise<void>
}
