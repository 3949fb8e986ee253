import type { Configuration } from '../../config.ts'
import { selectBackupLocation } from '../../contracts/backups.ts'
import type { BackupLocationWithStatus } from '../../contracts/platformbackups/conditions.ts'
import { isRecord } from '../../core/isRecord.ts'
import { plainLine } from '../../core/plainLine.ts'
import { pluralize } from '../../core/pluralize.ts'
import { OLDEST_KUBERNETES_MINOR } from '../../core/release.ts'
import { type Finding, fault, off, ok } from './finding.ts'

export function judgeVersion({
  major,
  minor,
  gitVersion,
}: {
  major: string
  minor: string
  gitVersion: string
}): Finding {
  const isNew = Number(major) > 1 || Number.parseInt(minor, 10) >= OLDEST_KUBERNETES_MINOR
  if (isNew) return ok(`Kubernetes ${gitVersion}.`)
  return fault(`Kubernetes ${gitVersion} is too old.`, `Upgrade the cluster to 1.${OLDEST_KUBERNETES_MINOR} or newer.`)
}

/** Tolerated clock skew in milliseconds. */
const CLOCK_SKEW_MAX_MS = 60_000

/** @param dateHeader the Date header of an answer @param requestedAt local time of the request @param answeredAt of the answer */
export function judgeClock(dateHeader: string, requestedAt: number, answeredAt: number): Finding {
  const at = Date.parse(dateHeader)
  const skew =
    requestedAt - at > CLOCK_SKEW_MAX_MS ? requestedAt - at : at - answeredAt > CLOCK_SKEW_MAX_MS ? answeredAt - at : 0
  if (Number.isNaN(at) || skew === 0) return ok('It is that of the API server.')
  return fault(
    `The clock of the facade is ${Math.round(Math.abs(skew) / 60_000)} minutes ${skew > 0 ? 'ahead of' : 'behind'} that of the API server.`,
    'Have all nodes set their clocks by the same source (NTP): grants, tokens, timers and certificates go by them.',
  )
}

/**
 * @param wanted all kinds as plural.group @param served the kinds that the API server serves
 * @param changed kinds of `wanted` with another schema there
 */
export function judgeKinds(
  wanted: readonly string[],
  served: ReadonlySet<string>,
  changed: readonly string[] = [],
): Finding {
  const missing = wanted.filter((name) => !served.has(name))
  const remedy = 'Apply the definitions of this version: deploy/crds, or the chart.'
  if (missing.length > 0) return fault(`These kinds are not served: ${listFirst(missing)}.`, remedy)
  // The API server would drop or refuse fields that their schemas lack.
  if (changed.length > 0)
    return fault(`The definitions of these kinds are of another version: ${listFirst(changed)}.`, remedy)
  return ok(`All ${wanted.length} kinds are served.`)
}

function listFirst(names: readonly string[]): string {
  const remainder = names.length > 3 ? ` and ${names.length - 3} more` : ''
  return `${names.slice(0, 3).join(', ')}${remainder}`
}

/** Whether a published schema equals a declared one, apart from descriptions and additions of the API server. */
export function isSameSchema(published: unknown, declared: unknown): boolean {
  if (Array.isArray(declared)) {
    const isAsLong = Array.isArray(published) && published.length === declared.length
    return isAsLong && declared.every((part, at) => isSameSchema(published[at], part))
  }
  if (!isRecord(declared)) return published === declared
  const counts = ([name, part]: [string, unknown]) => name !== 'description' || typeof part !== 'string'
  const parts = Object.entries(declared).filter(counts)
  // The API server leaves empty objects out.
  if (parts.length === 0) return true
  return isRecord(published) && parts.every(([name, part]) => isSameSchema(published[name], part))
}

/** @param answer status of any answer, or the reason if there was none */
export function judgeWebhook(
  configured: { authority: boolean } | undefined,
  answer: { status?: number; reason?: string },
): Finding {
  if (configured === undefined) {
    return fault(
      'freehold-iam is not installed: access control is not checked.',
      'Apply deploy/manifests/webhooks.yaml.',
    )
  }
  if (!configured.authority) {
    const remedy =
      'Set webhookOwnAuthority, or caBundle as docs/areas/kubectl.md says; the log of the facade says more.'
    return fault('freehold-iam names no authority: writes of access control are refused.', remedy)
  }
  if (answer.status !== undefined) return ok('The webhook freehold-iam answers.')
  const remedy = 'Check that the Service freehold-webhook has endpoints, and that no policy blocks port 9443.'
  return fault(`The webhook freehold-iam does not answer: ${answer.reason ?? 'no reason given'}.`, remedy)
}

/**
 * @param wanted digest per policy @param found digest per installed policy, '' for a version without digests
 * @param denying policies with a binding that denies
 * @param leaving policies that are being deleted, or whose binding is: a finalizer keeps them in force until then
 */
export function judgePolicies(
  wanted: Readonly<Record<string, string>>,
  found: ReadonlyMap<string, string>,
  denying: ReadonlySet<string>,
  leaving: ReadonlySet<string> = new Set(),
): Finding {
  const names = Object.keys(wanted)
  const remedy = 'Apply the manifests of this version: deploy/manifests, or the chart.'
  const missing = names.filter((name) => !found.has(name) || !denying.has(name))
  if (missing.length > 0)
    return fault(`These admission policies, or their bindings, are not installed: ${listFirst(missing)}.`, remedy)
  const changed = names.filter((name) => found.get(name) !== wanted[name])
  if (changed.length > 0)
    return fault(`These admission policies are of another version: ${listFirst(changed)}.`, remedy)
  const ending = names.filter((name) => leaving.has(name))
  if (ending.length > 0)
    return fault(
      `These admission policies are being deleted, and end with their finalizers: ${listFirst(ending)}.`,
      'To keep the platform, remove the finalizers, as docs/install.md says at "Uninstall", and apply the manifests at once.',
    )
  return ok(`All ${names.length} admission policies are installed.`)
}

export function judgeKubectl({
  webhookCertificate,
  projectRbac,
}: Pick<Configuration, 'webhookCertificate' | 'projectRbac'>): Finding {
  if (webhookCertificate !== undefined)
    return ok('The facade can be asked who may do what; only the configuration of the API server says whether it asks.')
  const link = 'docs/install.md says what works on a managed cluster'
  if (projectRbac)
    return off(
      'The API server does not ask the facade: kubectl has what role bindings can say, without denies.',
      `Configure the API server if you can; ${link}.`,
    )
  return off('With kubectl, tenants may do nothing.', `Configure the API server, or set projectRbac; ${link}.`)
}

export function judgeAuditLog({
  auditWebhook,
  webhookCertificate,
}: Pick<Configuration, 'auditWebhook' | 'webhookCertificate'>): Finding {
  const link = 'docs/areas/activity.md'
  if (!auditWebhook)
    return off(
      'The API server sends no audit log: activity tells what kubectl and Git tools changed, but not by whom.',
      `Configure the API server if you can: ${link}.`,
    )
  if (webhookCertificate !== undefined) return ok('The facade takes the audit log of the API server.')
  return fault(
    'auditWebhook is set, but nothing takes it: activity tells nothing of kubectl and Git tools.',
    `Set webhookCertificate, or auditWebhook to false: ${link}.`,
  )
}

type Discovery = { issuer?: unknown; jwks_uri?: unknown }

export function judgeIssuer(issuer: string, found: Discovery | undefined, keys: number, reason = ''): Finding {
  const remedy = 'Correct issuer (and issuerCertificateAuthority), or allow connections from freehold-system to it.'
  if (found === undefined) return fault(`${issuer} does not serve its OpenID configuration: ${reason}.`, remedy)
  if (found.issuer !== issuer) {
    return fault(
      `The issuer calls itself ${String(found.issuer)}, but the configuration says ${issuer}.`,
      'Set issuer to the name that it uses.',
    )
  }
  if (keys === 0) return fault(`${issuer} publishes no key.`, 'Check its jwks_uri: every token is refused.')
  return ok(`${issuer} publishes ${keys === 1 ? 'a key' : `${keys} keys`}.`)
}

/** @param seesPushes whether the clean-up of images knows all push tokens */
export function judgeRegistry(
  url: string,
  answer: { status?: number; challenge?: string; reason?: string },
  seesPushes = true,
): Finding {
  if (answer.status === undefined) {
    return fault(`${url} does not answer: ${answer.reason ?? 'no reason given'}.`, 'Check registryUrl.')
  }
  if (answer.status !== 401 || !/^bearer /i.test(answer.challenge ?? '')) {
    const message = `${url} answers ${answer.status} without asking for a token: anybody may pull and push.`
    return fault(message, 'Configure auth.token of the registry, as docs/areas/registry.md says.')
  }
  if (!answer.challenge?.includes('/registry/auth/token')) {
    return fault(
      `${url} sends clients elsewhere for tokens.`,
      'Set auth.token.realm to <publicUrl>/registry/auth/token.',
    )
  }
  if (!seesPushes) {
    const message = 'Facade and controllers do not share the audit of the registry: retention removes nothing.'
    return fault(message, 'Set registryAuditFolder to a folder on a volume that the pods of both mount.')
  }
  return ok(`${url} asks for tokens of the platform.`)
}

export function judgeGateway(named: readonly string[], isServed: boolean): Finding {
  if (named.length === 0) return ok('No gateway is named: hosts are served by Ingress.')
  if (isServed) return ok(`${named.join(', ')}; \`kubectl get gateways -A\` shows whether it is programmed.`)
  return fault(
    `${named.join(', ')} is configured, but the cluster has no Gateway API.`,
    'Install the Gateway API and a controller.',
  )
}

/** Names to list in one line. */
const NAMES_MAX = 5

/** @param unknown users at the store that have a key without an ObjectAccessKey */
export function judgeObjectStore(unknown: readonly string[]): Finding {
  if (unknown.length === 0) return ok('The object store answers, and accepts the credentials.')
  const names = `${unknown.slice(0, NAMES_MAX).join(', ')}${unknown.length > NAMES_MAX ? ' ...' : ''}`
  const remedy =
    'Nobody can revoke these in the platform: delete them at the store, as docs/areas/objectstorage.md says.'
  return fault(
    `The object store answers; the platform has no record of ${pluralize(unknown.length, 'key')} at it: ${names}`,
    remedy,
  )
}

export function judgeOwners(count: number): Finding {
  if (count > 0) return ok(count === 1 ? 'The platform has one Owner.' : `The platform has ${count} Owners.`)
  return fault('Nobody is Owner of the platform.', 'Write a first RoleAssignment, as docs/install.md says.')
}

export function judgeEngine(isServed: boolean | 'simulated', name: string, purpose: string, link: string): Finding {
  if (isServed === 'simulated') return ok(`${name} is simulated: ${purpose} show its states, and nothing runs.`)
  if (isServed) return ok(`${name} is installed.`)
  return off(`${name} is not installed: ${purpose} wait with EngineMissing.`, `Install it if you want them: ${link}`)
}

/**
 * @param url without credentials
 * @param reason why it does not answer
 */
export function judgePrometheus(url: string | undefined, reason?: string): Finding {
  const link = 'docs/areas/monitoring.md'
  if (url === undefined)
    return off('No Prometheus is set: figures of resources answer ENGINE_MISSING.', `Set prometheusUrl: ${link}.`)
  if (reason === undefined) return ok(`${url} answers queries.`)
  return fault(
    `${url} does not answer queries: ${reason}.`,
    `Correct prometheusUrl, or allow connections to it: ${link}.`,
  )
}

/** @param answer result of asking for the token's owner; neither status nor reason if there is no token */
export function judgeGitHost(
  url: string | undefined,
  answer: { status?: number; isAdmin?: boolean; reason?: string | undefined },
): Finding {
  const link = 'docs/areas/sources.md'
  if (url === undefined) {
    const message = 'No Git host is set: deployment sources of type circuit wait with EngineMissing.'
    return off(message, `Set circuitUrl and circuitTokenFile if you want them: ${link}.`)
  }
  const remedy = `Write a token of an administrator of ${url} to circuitTokenFile: ${link}.`
  if (answer.reason !== undefined)
    return fault(`${url} does not answer: ${answer.reason}.`, 'Correct circuitUrl, or allow connections to it.')
  if (answer.status === undefined) return fault(`${url} cannot be used: there is no token for it.`, remedy)
  if (answer.status !== 200) return fault(`${url} does not accept the token: it answers ${answer.status}.`, remedy)
  if (answer.isAdmin !== true) return fault(`The token for ${url} is not that of an administrator.`, remedy)
  return ok(`${url} answers, and accepts the token.`)
}

/** Milliseconds without validation after which Velero, which validates its target every minute, counts as stopped. */
const VELERO_TIMEOUT_MS = 600_000

/**
 * @param locations Velero's backup storage locations; undefined if Velero is not installed
 * @param refusal why a configured target was not accepted
 */
export function judgeBackups(
  locations: readonly BackupLocationWithStatus[] | undefined,
  now: number,
  refusal?: string | null,
): Finding {
  const link = 'docs/areas/platformbackups.md'
  if (locations === undefined)
    return off('Velero is not installed: backups wait with EngineMissing.', `Install it if you want them: ${link}.`)
  const target = selectBackupLocation(locations)
  if (target === undefined && typeof refusal === 'string')
    return fault(`Velero has no target. ${refusal}`, `Correct the one that was set: ${link}.`)
  if (target === undefined) return off('Velero has no target: nothing is backed up.', `Set one: ${link}.`)
  const { phase, message = '', lastValidationTime = '' } = (target as BackupLocationWithStatus).status ?? {}
  const name = `its target "${target.metadata.name}"`
  const remedy = "Look at Velero's own log: its Deployment may be missing, or have no room."
  if (phase === undefined) return fault(`Velero has not looked at ${name} yet.`, remedy)
  if (phase !== 'Available')
    return fault(`Velero cannot reach ${name}. ${plainLine(message, 512)}`.trim(), `Correct the target: ${link}.`)
  if (target.spec?.accessMode === 'ReadOnly')
    return fault(`Velero may not write to ${name}: it is read-only.`, 'Set its accessMode to ReadWrite.')
  const hasFrequency = (target.spec as { validationFrequency?: string } | undefined)?.validationFrequency !== undefined
  if (!hasFrequency && now - Date.parse(lastValidationTime) > VELERO_TIMEOUT_MS)
    return fault(`Velero has not looked at ${name} since ${lastValidationTime}.`, remedy)
  return ok(`Velero reaches ${name}.`)
}
