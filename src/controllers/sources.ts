import { randomBytes } from 'node:crypto'
import { type CircuitPort, connectionTo, SourceError, type SourcePort } from '../adapters/sources/port.ts'
import { isCredentialSourceOf } from '../contracts/blueprints/sources.ts'
import {
  CIRCUIT_TOKEN_ROTATION_MS,
  CREDENTIAL_KEYS,
  type Credentials,
  hasCredentials,
  NEEDED_CREDENTIALS,
  secretNameOf,
  sourceSecretName,
} from '../contracts/sources/providers.ts'
import { sha256 } from '../core/names.ts'
import { type KubeObject, keyOf, type Resource } from '../core/object.ts'
import { degraded, done, type Outcome, stalled, waiting } from '../core/outcome.ts'
import { secretData, secretTexts } from '../core/secretData.ts'
import { BlueprintSource } from '../crds/blueprintSources.ts'
import { DeploymentRecord } from '../crds/deployments.ts'
import { HOLDERS_SHOWN_MAX } from '../crds/holders.ts'
import { kubectlName } from '../crds/kubectlName.ts'
import { DeploymentSource } from '../crds/sources.ts'
import { KINDS_WITH_SOURCES, sourceOf } from '../desired/sources.ts'
import { namespace, secretMetadata } from '../kube/builtin.ts'
import { putSecret, secretOwner } from '../kube/putSecret.ts'
import { endPreviews, keepPreviews, PREVIEW_RIGHTS, previewSources } from './deployments/previews.ts'
import { deployPushed, groupInSourceBoundary } from './deployments/pushes.ts'
import { controllerWith, type Pass, steps, type Workspace } from './engine/controller.ts'
import { related } from './engine/lookups.ts'
import { abbreviateNames } from './ownedNamespace.ts'
import { readSecret, withSecretRights } from './workload/secrets.ts'

export type SourceOptions = { port: Pick<SourcePort, 'check' | 'repositories'>; circuit: CircuitPort }

type SourcePass = Pass<typeof DeploymentSource>

/** Milliseconds between two checks: providers do not report withdrawn credentials. */
const CHECK_INTERVAL_MS = 3_600_000
const RETRY_INTERVAL_MS = 300_000
/** Milliseconds until a missing Secret is read again: it may have been applied before its namespace was watched. */
const SECRET_RETRY_MS = 15_000

const SUSPENDED = 'The provider has suspended the installation: whoever may do so there ends that.'

/** Signs in at each source's provider, and keeps accounts at the platform's own Git host. */
export const sourceController = controllerWith(
  DeploymentSource,
  {
    observes: [
      ...KINDS_WITH_SOURCES.map(({ resource }) => ({ resource, keysOf: concernedSources })),
      { resource: BlueprintSource.resource, keysOf: sourcesOfCatalogue },
      { resource: secretMetadata, keysOf: sourcesWith },
    ],
    reads: [namespace, { resource: DeploymentRecord.resource, in: 'records' }],
    writes: [{ resource: DeploymentRecord.resource, verbs: ['create'] }, ...PREVIEW_RIGHTS],
  },
  ({ port, circuit }: SourceOptions) => {
    return {
      reconcile: steps(reportHeldBy, keepPreviews, deployPushed, openCircuit, checkProvider),
      finalize: steps(endPreviews, blockWhileReferenced, closeCircuit),
    }

    function openCircuit(pass: SourcePass): Outcome | Promise<Outcome> {
      const { provider, baseUrl } = pass.object.spec
      if (provider !== 'Circuit') return done()
      if (circuit.baseUrl === undefined)
        return stalled('EngineMissing', 'This platform runs no Git host: an administrator sets circuitUrl.')
      if (baseUrl !== circuit.baseUrl)
        return stalled('ConfigurationInvalid', `The Git host of this platform is ${circuit.baseUrl}.`)
      return withSecretRights(() => withSourceErrors(async () => openAccount(pass, circuit)))
    }

    function checkProvider(pass: SourcePass): Outcome | Promise<Outcome> {
      const { spec, status } = pass.object
      if (status?.removedAt !== undefined)
        return stalled('ReferenceMissing', 'The provider says that the installation is gone: delete the source.')
      if (spec.provider === 'GitHub' && spec.installationId === undefined)
        return waiting('WaitingForDependency', 'The GitHub App is not installed yet.')
      const remainingMs = remainingValidityMs(pass)
      if (remainingMs > 0) return done({ after: remainingMs })
      return withSecretRights(() => withSourceErrors(() => signIn(pass)))
    }

    async function signIn(pass: SourcePass): Promise<Outcome> {
      const { spec, metadata } = pass.object
      const { provider } = spec
      pass.records.watchSecretMetadata(metadata.namespace ?? '')
      const credentials = await credentialsOf(pass)
      pass.report({ hasWebhookSecret: (credentials[CREDENTIAL_KEYS.webhookSecret] ?? '') !== '' })
      if (!hasCredentials(provider, credentials)) {
        const needed = NEEDED_CREDENTIALS[provider].join(' or ')
        const message = `The Secret "${secretNameOf(pass.object)}" is missing or has no ${needed}, with which a source of type ${provider} signs in: set the credentials of the source again.`
        return stalled('ReferenceMissing', message, SECRET_RETRY_MS)
      }
      const connection = connectionTo(pass.object, credentials)
      const checked = await port.check(connection)
      if (checked.installation?.suspendedAt !== undefined) {
        pass.report({ ...checked, lastCheckedAt: pass.now })
        return stalled('ConfigurationInvalid', SUSPENDED, CHECK_INTERVAL_MS)
      }
      const repositoryCount = (await port.repositories(connection)).length
      pass.report({ ...checked, repositoryCount, lastCheckedAt: pass.now })
      return done({ after: CHECK_INTERVAL_MS })
    }

    /** Deletes the account with all its repositories, as the deletion of the source asks for. */
    async function closeCircuit(pass: SourcePass): Promise<Outcome> {
      if (pass.object.spec.provider !== 'Circuit' || circuit.baseUrl === undefined) return done()
      try {
        await circuit.removeAccount(accountOf(pass))
        return done()
      } catch (error) {
        if (!(error instanceof SourceError)) throw error
        return waiting(
          'TearingDown',
          `Its account at the Git host is not gone yet: ${error.message}`,
          RETRY_INTERVAL_MS,
        )
      }
    }
  },
)

type Catalogue = BlueprintSource & KubeObject

type ListObjects = <T extends KubeObject>(resource: Resource, options?: { namespace: string }) => Promise<readonly T[]>

/** Returns what uses the source. A resource in another boundary does not count. */
async function holdersOf(pass: SourcePass, list: ListObjects): Promise<string[]> {
  const { object, records } = pass
  const { name, namespace = '' } = object.metadata
  const catalogues = (await list<Catalogue>(BlueprintSource.resource, { namespace }))
    .filter(({ spec }) => isCredentialSourceOf(object, spec))
    .map(({ metadata }) => kubectlName(BlueprintSource, metadata.name))
  const named = KINDS_WITH_SOURCES.map(async (kind) =>
    (await list(kind.resource)).flatMap((one) => {
      const group = sourceOf(one) === name ? groupInSourceBoundary(one, object, records) : undefined
      return group === undefined ? [] : [`${group}/${kubectlName(kind, one.metadata.name)}`]
    }),
  )
  return [...(await Promise.all(named)).flat(), ...catalogues].sort()
}

const knownHolders = (pass: SourcePass) =>
  holdersOf(pass, async (resource, options) => {
    const cache = pass.records.cache<never>(resource)
    return options === undefined ? related(cache, 'source', pass.object.metadata.name) : cache.list(options)
  })

async function reportHeldBy(pass: SourcePass): Promise<Outcome> {
  reportHolders(pass, await knownHolders(pass))
  return done()
}

function reportHolders(pass: SourcePass, names: readonly string[]): void {
  pass.report({ heldBy: names.length === 0 ? undefined : names.slice(0, HOLDERS_SHOWN_MAX) })
}

/** Checks again before the deletion, because a resource may have referred to the source meanwhile. */
async function blockWhileReferenced(pass: SourcePass): Promise<Outcome> {
  const { client } = pass.records
  const known = await knownHolders(pass)
  // The caches may lack the newest objects.
  const names =
    known.length > 0
      ? known
      : await holdersOf(pass, async (resource, options) => (await client.list<never>(resource, options)).items)
  reportHolders(pass, names)
  if (names.length === 0) return done()
  return waiting(
    'DeletionBlocked',
    `Stopped, because this names the source: ${abbreviateNames(names)}. Change or delete it first.`,
  )
}

function concernedSources(resource: KubeObject, records: Workspace): string[] {
  const ids = new Set([sourceOf(resource), ...previewSources(resource, records)])
  return [...ids].flatMap((id) =>
    id === undefined ? [] : related(records.cache(DeploymentSource), 'name', id).map(keyOf),
  )
}

function sourcesOfCatalogue({ metadata, spec }: KubeObject, records: Workspace): string[] {
  const { namespace } = metadata
  const sources = records.cache(DeploymentSource).list({ namespace })
  return sources.filter((source) => isCredentialSourceOf(source, spec as BlueprintSource['spec'])).map(keyOf)
}

/** Wakes sources whose credentials changed, so that they are tried at once. */
function sourcesWith({ metadata: { name, namespace } }: KubeObject, records: Workspace): string[] {
  const sources = records.cache(DeploymentSource).list({ namespace })
  return sources.filter((source) => secretNameOf(source) === name).map(keyOf)
}

/** Returns the milliseconds for which the last check is valid. Deliveries change the status and wake us, too. */
function remainingValidityMs({ object: { status, metadata }, clock }: SourcePass): number {
  const isReady = status?.status === 'Running' && status.observedGeneration === metadata.generation
  if (!isReady || status.lastCheckedAt === undefined) return 0
  return Math.max(0, Date.parse(status.lastCheckedAt) + CHECK_INTERVAL_MS - clock.now())
}

async function withSourceErrors(work: () => Promise<Outcome>): Promise<Outcome> {
  try {
    return await work()
  } catch (error) {
    if (!(error instanceof SourceError)) throw error
    if (error.reason === 'Unreachable') return degraded('PartiallyAvailable', error.message, RETRY_INTERVAL_MS)
    return stalled('ConfigurationInvalid', error.message, RETRY_INTERVAL_MS)
  }
}

async function credentialsOf(pass: SourcePass): Promise<Credentials> {
  const { namespace = '' } = pass.object.metadata
  return secretTexts((await readSecret({ workloads: pass.records }, namespace, secretNameOf(pass.object)))?.data)
}

/** Named after the incarnation, so that a source re-created under the same name finds nothing of it. */
function accountOf({ object: { metadata }, incarnation }: SourcePass): string {
  return `c-${sha256(`${metadata.namespace}/${metadata.name}/${incarnation}`).slice(0, 24)}`
}

/**
 * Creates the account and its token, and replaces that twice a day: whoever got it has the rights of the account. A token
 * whose Secret could not be written is replaced in the next pass.
 */
async function openAccount(pass: SourcePass, circuit: CircuitPort): Promise<Outcome> {
  const known = await credentialsOf(pass)
  const { [CREDENTIAL_KEYS.token]: current, [CREDENTIAL_KEYS.tokenIssuedAt]: issuedAt = '' } = known
  const left = Date.parse(issuedAt) + CIRCUIT_TOKEN_ROTATION_MS - pass.clock.now()
  if (hasCredentials('Circuit', known) && left > 0) return done({ after: left })
  const { token } = await circuit.openAccount(accountOf(pass), current)
  const entries = {
    [CREDENTIAL_KEYS.tokenIssuedAt]: pass.now,
    [CREDENTIAL_KEYS.webhookSecret]: known[CREDENTIAL_KEYS.webhookSecret] ?? randomBytes(32).toString('base64url'),
    [CREDENTIAL_KEYS.token]: token,
  }
  const { metadata } = pass.object
  const ref = { namespace: metadata.namespace ?? '', name: sourceSecretName(metadata.name) }
  await putSecret(pass.records.client, ref, secretData(entries), secretOwner(DeploymentSource, metadata))
  return done({ after: CIRCUIT_TOKEN_ROTATION_MS })
}
