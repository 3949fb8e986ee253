import { DAY_MS } from '../../core/clock.ts'

/** Sources of code and images. Circuit is the Git host that the platform itself runs. */
export const PROVIDERS = ['GitHub', 'GitLab', 'Gitea', 'Bitbucket', 'Git', 'Registry', 'Circuit'] as const
export type Provider = (typeof PROVIDERS)[number]

/** Returns the name of a provider in paths of REST. */
export function sourceNameOf(provider: Provider): string {
  return provider.toLowerCase()
}

export const SOURCE_NAMES = PROVIDERS.map(sourceNameOf)

export function providerNamed(sourceName: string): Provider | undefined {
  return PROVIDERS.find((provider) => sourceNameOf(provider) === sourceName)
}

/** The public hosts of providers; plain Git has none, and Circuit is where the platform runs it. */
export const PUBLIC_HOSTS: Readonly<Partial<Record<Provider, string>>> = {
  GitHub: 'https://github.com',
  GitLab: 'https://gitlab.com',
  Gitea: 'https://gitea.com',
  Bitbucket: 'https://bitbucket.org',
  Registry: 'https://registry-1.docker.io',
}

/** Entries of the Secret of a source. */
export const CREDENTIAL_KEYS = {
  /** For the provider's API, or for Git over https. */
  token: 'token',
  /** For a registry. */
  password: 'password',
  /** PEM, for a GitHub App or for Git over ssh. */
  privateKey: 'private-key',
  appId: 'app-id',
  appSlug: 'app-slug',
  /** For Git over ssh: lines of known_hosts, if the key of the host is known. */
  knownHosts: 'known-hosts',
  webhookSecret: 'webhook-secret',
  /** When the token of a circuit was issued. */
  tokenIssuedAt: 'token-issued-at',
} as const

/** Milliseconds after which a token of a circuit is replaced. It stays valid until its successor is: a build may have it. */
export const CIRCUIT_TOKEN_ROTATION_MS = DAY_MS / 2

export type Credentials = Readonly<Record<string, string>>

/** Entries of which the Secret must have at least one. */
export const NEEDED_CREDENTIALS: Readonly<Record<Provider, readonly string[]>> = {
  GitHub: [CREDENTIAL_KEYS.privateKey],
  GitLab: [CREDENTIAL_KEYS.token],
  Gitea: [CREDENTIAL_KEYS.token],
  Bitbucket: [CREDENTIAL_KEYS.token],
  Git: [CREDENTIAL_KEYS.token, CREDENTIAL_KEYS.privateKey],
  Registry: [CREDENTIAL_KEYS.password],
  Circuit: [CREDENTIAL_KEYS.token],
}

/** Name of the Secret that REST writes for a source, in the same namespace. */
export function sourceSecretName(sourceId: string): string {
  return `dsrc-${sourceId}`
}

/** Returns the Secret with the credentials of a source: one that somebody named, or the one that REST writes. */
export function secretNameOf(source: {
  readonly metadata: { readonly name: string }
  readonly spec: { readonly credentials?: { readonly secretName: string } | undefined }
}): string {
  return source.spec.credentials?.secretName ?? sourceSecretName(source.metadata.name)
}

export function hasCredentials(provider: Provider, credentials: Credentials): boolean {
  return NEEDED_CREDENTIALS[provider].some((key) => (credentials[key] ?? '') !== '')
}

type MayBeDisabled = {
  readonly spec: { readonly circuit?: { readonly enabled?: boolean | undefined } | undefined }
  readonly status?: { readonly removedAt?: string | undefined } | undefined
}

/** Whether nothing is fetched from the source: its settings say so, or its installation was removed. */
export function isDisabled({ spec, status }: MayBeDisabled): boolean {
  return spec.circuit?.enabled === false || status?.removedAt !== undefined
}
