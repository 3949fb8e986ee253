import { existsSync, readFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { load } from 'js-yaml'
import { type Clock, systemClock } from '../core/clock.ts'
import { type ClusterAccess, type TlsMaterial, WatchedFile } from './access.ts'

const SERVICE_ACCOUNT = '/var/run/secrets/kubernetes.io/serviceaccount'

type Cluster = {
  server?: string
  'certificate-authority'?: string
  'certificate-authority-data'?: string
  'insecure-skip-tls-verify'?: boolean
  'tls-server-name'?: string
  'proxy-url'?: string
}
type User = {
  token?: string
  tokenFile?: string
  'client-certificate'?: string
  'client-certificate-data'?: string
  'client-key'?: string
  'client-key-data'?: string
  username?: string
  password?: string
  exec?: unknown
  'auth-provider'?: unknown
  as?: string
  'as-uid'?: string
  'as-groups'?: string[]
  'as-user-extra'?: unknown
}
type Context = { cluster?: string; user?: string; namespace?: string }
type Kubeconfig = {
  'current-context'?: string
  clusters?: { name: string; cluster: Cluster }[]
  users?: { name: string; user: User }[]
  contexts?: { name: string; context: Context }[]
}

/** Credentials that only an exec plugin or auth provider can supply. */
export type PluginCredentials = { authorization: string | undefined; cert: string | undefined; key: string | undefined }
export type CredentialPlugin = {
  credentials(): Promise<PluginCredentials>
  /** The next call asks the plugin again. */
  forget(): void
}
export type LoadPlugin = (kubeconfig: string, context: string) => CredentialPlugin

/**
 * Loads how to reach an API server.
 * @param path a kubeconfig; by default `~/.kube/config` if it exists, otherwise the service account of the pod
 * @param context a context of that file; by default its current one
 * @throws Error naming the file and what is missing in it
 */
export function loadKubeconfig(path?: string | undefined, context?: string | undefined): ClusterAccess {
  if (path !== undefined) return parseKubeconfig(readFileSync(path, 'utf8'), path, context)
  const fallback = join(homedir(), '.kube', 'config')
  if (existsSync(fallback)) return parseKubeconfig(readFileSync(fallback, 'utf8'), fallback, context)
  if (existsSync(join(SERVICE_ACCOUNT, 'token'))) return inClusterAccess(SERVICE_ACCOUNT)
  throw new Error(
    `No API server is configured: there is neither ${fallback} nor a service account in ${SERVICE_ACCOUNT}. Name a kubeconfig.`,
  )
}

/** Returns access with the service account that Kubernetes mounts into every pod. */
export function inClusterAccess(directory: string, clock: Clock = systemClock): ClusterAccess {
  const namespace = join(directory, 'namespace')
  return accessOf({
    server: 'https://kubernetes.default.svc',
    namespace: existsSync(namespace) ? readFileSync(namespace, 'utf8').trim() : 'default',
    cluster: { 'certificate-authority': join(directory, 'ca.crt') },
    user: { tokenFile: join(directory, 'token') },
    directory,
    clock,
    plugin: undefined,
  })
}

/** Parses a kubeconfig; `path` is used in messages and to resolve relative paths. */
export function parseKubeconfig(
  text: string,
  path: string,
  context?: string | undefined,
  clock: Clock = systemClock,
  loadPlugin: LoadPlugin = clientNodePlugin,
): ClusterAccess {
  const config = readYaml(text, path)
  const contextName = context ?? config['current-context'] ?? ''
  const found = config.contexts?.find(({ name }) => name === contextName)?.context
  if (found === undefined) throw new Error(`${path} has no context "${contextName}".`)
  const cluster = config.clusters?.find(({ name }) => name === found.cluster)?.cluster
  if (cluster?.server === undefined) throw new Error(`${path} has no server for cluster "${found.cluster ?? ''}".`)
  const user = config.users?.find(({ name }) => name === found.user)?.user ?? {}
  refuseImpersonation(user, path)
  const directory = dirname(resolve(path))
  const usesPlugin = user.exec !== undefined || user['auth-provider'] !== undefined
  return accessOf({
    server: cluster.server,
    namespace: found.namespace ?? 'default',
    cluster,
    user,
    directory,
    clock,
    plugin: usesPlugin ? loadPlugin(text, contextName) : undefined,
  })
}

/** Ignoring impersonation would use the rights of the impersonating user, which are usually broader. */
function refuseImpersonation(user: User, path: string): void {
  const field = (['as', 'as-uid', 'as-groups', 'as-user-extra'] as const).find((name) => user[name] !== undefined)
  if (field !== undefined)
    throw new Error(
      `${path} has "${field}", to act as somebody else, which is not supported: name that one's own credentials.`,
    )
}

/** The parser's message would quote the faulty line, which may contain a credential. */
function readYaml(text: string, path: string): Kubeconfig {
  if (text.trim() === '') return {}
  try {
    return (load(text) ?? {}) as Kubeconfig
  } catch {
    throw new Error(`${path} is not YAML.`)
  }
}

type AccessParts = {
  server: string
  namespace: string
  cluster: Cluster
  user: User
  directory: string
  clock: Clock
  plugin: CredentialPlugin | undefined
}

function accessOf({ server, namespace, cluster, user, directory, clock, plugin }: AccessParts): ClusterAccess {
  const files: WatchedFile[] = []
  const source = (inline: string | undefined, path: string | undefined): (() => Promise<string | undefined>) => {
    if (inline !== undefined) {
      const text = Buffer.from(inline, 'base64').toString('utf8')
      return async () => text
    }
    if (path === undefined) return async () => undefined
    const file = new WatchedFile(resolve(directory, path), clock)
    files.push(file)
    return () => file.text()
  }
  const ca = source(cluster['certificate-authority-data'], cluster['certificate-authority'])
  const cert = source(user['client-certificate-data'], user['client-certificate'])
  const key = source(user['client-key-data'], user['client-key'])
  const token = user.tokenFile === undefined ? async () => user.token : source(undefined, user.tokenFile)
  let current: TlsMaterial | undefined

  return {
    server: server.replace(/\/+$/, ''),
    namespace,
    proxyUrl: cluster['proxy-url'],
    async tls() {
      const given = await plugin?.credentials()
      const authority = await ca()
      const next = { cert: given?.cert ?? (await cert()), key: given?.key ?? (await key()) }
      if (current === undefined || authority !== current.ca || next.cert !== current.cert || next.key !== current.key) {
        current = withoutUndefined({
          ...next,
          ca: authority,
          servername: cluster['tls-server-name'],
          rejectUnauthorized: cluster['insecure-skip-tls-verify'] === true ? false : undefined,
        })
      }
      return current
    },
    async authorization() {
      if (plugin !== undefined) return (await plugin.credentials()).authorization
      const bearer = (await token())?.trim()
      if (bearer !== undefined && bearer !== '') return `Bearer ${bearer}`
      if (user.username === undefined) return undefined
      return `Basic ${Buffer.from(`${user.username}:${user.password ?? ''}`).toString('base64')}`
    },
    refresh() {
      for (const file of files) file.forget()
      plugin?.forget()
    },
  }
}

function withoutUndefined(material: { [K in keyof TlsMaterial]: TlsMaterial[K] | undefined }): TlsMaterial {
  return Object.fromEntries(Object.entries(material).filter(([, value]) => value !== undefined)) as TlsMaterial
}

/**
 * Runs exec plugins and auth providers through client-node, which is imported lazily: it costs a third of a second and
 * 130 MB. It caches the credentials of a plugin until they expire, for as long as its KubeConfig lives.
 */
function clientNodePlugin(kubeconfig: string, context: string): CredentialPlugin {
  let loaded: Promise<() => Promise<PluginCredentials>> | undefined
  const start = async () => {
    const { KubeConfig } = await import('@kubernetes/client-node')
    const config = new KubeConfig()
    config.loadFromString(kubeconfig)
    config.setCurrentContext(context)
    return async () => {
      const options: { headers?: Record<string, unknown>; cert?: unknown; key?: unknown } = {}
      await config.applyToHTTPSOptions(options as Parameters<typeof config.applyToHTTPSOptions>[0])
      const header = options.headers?.Authorization
      return {
        authorization: typeof header === 'string' ? header : undefined,
        cert: options.cert === undefined ? undefined : String(options.cert),
        key: options.key === undefined ? undefined : String(options.key),
      }
    }
  }
  return {
    async credentials() {
      loaded ??= start()
      return (await loaded)()
    },
    forget() {
      loaded = undefined
    },
  }
}
