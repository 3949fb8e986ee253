import { createHmac } from 'node:crypto'
import { type Summarized, summaryOf } from '../core/conditions.ts'
import { childName, sha256 } from '../core/names.ts'

/** What the facade, the controllers and the activator share about functions. */

/** Maximum duration of a call of a function. */
export const MAX_CALL_SECONDS = 900

export const FUNCTION_PORT = 8080
export const FUNCTION_CONTAINER = 'function'

/** Header of requests that the platform itself makes: what they are about. Never accepted from a caller. */
export const EVENT_HEADER = 'x-function-event'
/** Header with the key that callers need where the level is Secret. */
export const KEY_HEADER = 'x-function-key'
/** Between activators: the caller's address, or `FACADE_CALL` for what a facade asked. Never accepted from a caller. */
export const FORWARDED_HEADER = 'x-freehold-forwarded'
export const FACADE_CALL = 'facade'
/** In the answer of an activator that does not lead: it has done nothing. */
export const MOVED_HEADER = 'x-freehold-moved'

export const functionObjectName = (namespaceName: string, functionName: string) => `${namespaceName}.${functionName}`

/** Returns the namespace that an object's name contains; undefined if it contains none. */
export function namespaceOfFunction(objectName: string): string | undefined {
  const at = objectName.indexOf('.')
  return at > 0 ? objectName.slice(0, at) : undefined
}

export function functionNames(name: string) {
  return {
    workload: childName('sfn', name),
    values: childName('sfn', name, 'env'),
    /** In another cluster: a copy of the credentials of the namespace's identity, whose own Secret exists only here. */
    identity: childName('sfn', name, 'identity'),
    source: (hash: string, part: number) => childName('sfn', name, `src-${hash.slice(0, 12)}-${part}`),
  }
}

/** Prefix of the names of all objects for namespaces that stand beside the activator. */
export const FUNCTION_ROUTE_PREFIX = 'fnns'

/** Name of the objects that route to a namespace. They stand beside the activator, with those of all tenants. */
export function functionRouteName(namespace: string, name: string): string {
  return childName(FUNCTION_ROUTE_PREFIX, name, sha256(`${namespace}/${name}`).slice(0, 10))
}

/** Name of the certificate of a namespace's custom domain, and of the Secret that cert-manager keeps it in. */
export function functionCertificateName(namespace: string, name: string, host: string): string {
  return `${FUNCTION_ROUTE_PREFIX}cert-${sha256(`${namespace}/${name}/${host}`).slice(0, 32)}`
}

/** The Service of the activator in the platform's own namespace. */
export const ACTIVATOR_SERVICE = 'freehold-activator'
export const ACTIVATOR_PORT = 8082
/** The lease that elects the active activator. */
export const ACTIVATOR_LEASE = 'freehold-activator'

/** Returns where others reach a holder of the lease, which follows an @ in its name; undefined if it does not say. */
export function addressOfActivator(identity: string): string | undefined {
  const at = identity.lastIndexOf('@')
  return at < 0 ? undefined : identity.slice(at + 1)
}

/** The fields of a function's status that the activator writes; an admission policy forbids its account all others. */
export const ACTIVATOR_FIELDS = ['desiredReplicas', 'timers', 'lastRuns'] as const
export type ActivatorStatus = Partial<Record<(typeof ACTIVATOR_FIELDS)[number], unknown>>

/** Value of the claim of a path: paths are unique in a namespace of functions. */
export const pathClaim = (namespace: string, functionNamespace: string, path: string) =>
  `${namespace}/${functionNamespace}${path}`

/** Whether a path serves a request: `/orders` serves itself and all below it, segment by segment. */
export function servesPath(path: string, requestPath: string): boolean {
  return path === '/' || requestPath === path || requestPath.startsWith(`${path}/`)
}

/** Phases that may end by themselves: pods restart, or a cluster answers again. */
const TRANSIENT_PHASES: readonly unknown[] = ['CrashLooping', 'PartiallyAvailable', 'ClusterUnreachable']

/** Phases in which the version before goes on. */
const REFUSED_CHANGES: readonly unknown[] = ['QuotaExceeded', 'ConfigurationInvalid']

/** Returns why no copy gets ready until somebody changes what the status names; undefined if waiting may help. */
export function permanentFailureOf(object: Summarized): string | undefined {
  const { status, phase } = summaryOf(object)
  if (status !== 'Failed' || TRANSIENT_PHASES.includes(phase)) return undefined
  // The version before a refused change keeps the replicas that it was granted, and wakes with them.
  const isRefusedChange = object.status?.firstReadyAt !== undefined && REFUSED_CHANGES.includes(phase)
  return isRefusedChange ? undefined : (phase ?? undefined)
}

/** Secret in the platform's namespace with the HMAC key for digests of function keys, and its entry. */
export const KEY_DIGEST_SECRET = 'freehold-function-keys'
export const KEY_DIGEST_SECRET_ENTRY = 'digest-key'

/** Returns the digest of a key that a status may show: useless without the platform's own secret. */
export function keyDigest(secret: string, incarnation: string, trigger: string, key: string): string {
  return createHmac('sha256', secret)
    .update(JSON.stringify([incarnation, trigger, key]))
    .digest('hex')
}

export const FUNCTION_RUNTIME_NAMES = ['nodejs', 'python', 'go', 'dotnet', 'java', 'php'] as const
export type FunctionRuntime = (typeof FUNCTION_RUNTIME_NAMES)[number]

/** How a handler is served: files added to the source, by the file of ours that they come from, and the command. */
type HandlerServer = {
  files: Readonly<Record<string, string>>
  /** Replaces the build command of an app of the runtime. */
  build?: string
  start: string
}
type Runtime = {
  /** The versions that may be chosen, newest first. When each ends is in `RUNTIMES`, which builds them. */
  offered: readonly [newest: string, ...older: string[]]
  /** Versions without upstream support, which stay only where they are set. */
  ended: readonly string[]
  server: HandlerServer | undefined
}

/**
 * The runtimes of functions. Sources are accepted for those with a server, whose files have names that no source has by
 * chance.
 */
export const FUNCTION_RUNTIMES: Readonly<Record<FunctionRuntime, Runtime>> = {
  nodejs: {
    offered: ['24', '22'],
    ended: ['20', '18'],
    server: { files: { 'freehold-server.mjs': 'node/server.mjs' }, start: 'exec node freehold-server.mjs' },
  },
  python: {
    offered: ['3.14', '3.13', '3.12', '3.11'],
    ended: ['3.10', '3.9', '3.8'],
    server: { files: { 'freehold_server.py': 'python/server.py' }, start: 'exec python3 freehold_server.py' },
  },
  go: {
    offered: ['1.26', '1.25'],
    ended: ['1.24', '1.23'],
    server: {
      files: { 'freehold_server/main.go': 'go/main.go', 'freehold_server/generate/main.go': 'go/generate.go' },
      build: 'go run ./freehold_server/generate && go build -trimpath -o /out/server ./freehold_server',
      start: 'exec /app/server',
    },
  },
  dotnet: { offered: ['10.0'], ended: ['9.0', '8.0'], server: undefined },
  java: {
    offered: ['25', '21', '17'],
    ended: ['11'],
    server: {
      files: { 'src/main/java/FreeholdServer.java': 'java/FreeholdServer.java', 'freehold-build.sh': 'java/build.sh' },
      build: 'sh freehold-build.sh',
      start: "exec java -XX:MaxRAMPercentage=60 -cp '/app/app.jar:/app/lib/*' FreeholdServer",
    },
  },
  php: {
    offered: ['8.5', '8.4', '8.3', '8.2'],
    ended: ['8.1'],
    server: {
      files: { 'freehold_server.php': 'php/server.php', 'freehold-server.sh': 'php/server.sh' },
      start: 'exec sh freehold-server.sh',
    },
  },
}

export function newestRuntimeVersion(runtime: FunctionRuntime): string {
  return FUNCTION_RUNTIMES[runtime].offered[0]
}
