/** Where code and images come from. Circuit is the Git host that the platform itself runs. */
export const PROVIDERS = ['GitHub', 'GitLab', 'Gitea', 'Bitbucket', 'Git', 'Registry', 'Circuit'] as const
export type Provider = (typeof PROVIDERS)[number]

/** As paths of REST name a provider. */
export function sourceNameOf(provider: Provider): string {
  return provider.toLowerCase()
}

export const SOURCE_NAMES = PROVIDERS.map(sourceNameOf)

export function providerNamed(sourceName: string): Provider | undefined {
  return PROVIDERS.find((provider) => sourceNameOf(provider) === sourceName)
}

/** The public host of a provider; a repository of plain Git has none, and Circuit is where the platform runs it. */
export const PUBLIC_HOSTS: Readonly<Partial<Record<Provider, string>>> = {
  GitHub: 'https://github.com',
  GitLab: 'https://gitlab.com',
  Gitea: 'https://gitea.com',
  Bitbucket: 'https://bitbucket.org',
  Registry: 'https://registry-1.docker.io',
}

/** Entries of the Secret of a source. */
export const CREDENTIAL_KEYS = {
  /** Of the provider's interface, or for Git over https. */
  token: 'token',
  /** Of a registry. */
  password: 'password',
  /** PEM: of a GitHub App, or of Git over ssh. */
  privateKey: 'private-key',
  appId: 'app-id',
  appSlug: 'app-slug',
  /** Of Git over ssh: lines of known_hosts, for whoever knows the key of the host. */
  knownHosts: 'known-hosts',
  webhookSecret: 'webhook-secret',
} as const

export type Credentials = Readonly<Record<string, string>>

/** What must be in the Secret, any one of them; nothing for what the platform makes itself. */
export const NEEDED_CREDENTIALS: Readonly<Record<Provider, readonly string[]>> = {
  GitHub: [CREDENTIAL_KEYS.privateKey],
  GitLab: [CREDENTIAL_KEYS.token],
  Gitea: [CREDENTIAL_KEYS.token],
  Bitbucket: [CREDENTIAL_KEYS.token],
  Git: [CREDENTIAL_KEYS.token, CREDENTIAL_KEYS.privateKey],
  Registry: [CREDENTIAL_KEYS.password],
  Circuit: [CREDENTIAL_KEYS.token],
}

/** The Secret that REST writes for a source, in the same namespace. */
export function sourceSecretName(sourceId: string): string {
  return `dsrc-${sourceId}`
}

/** The Secret with the credentials of a source: one that somebody named, or the platform's own. */
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

/** Whether nothing is fetched from the source: its settings say so, or its installation is gone. */
export function isDisabled({ spec, status }: MayBeDisabled): boolean {
  return spec.circuit?.enabled === false || status?.removedAt !== undefined
}
