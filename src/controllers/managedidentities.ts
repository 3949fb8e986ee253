import { randomBytes } from 'node:crypto'
import { identityCopyName, type TokenEndpoint } from '../contracts/managedIdentities.ts'
import { OWNER_INCARNATION_ANNOTATION } from '../core/labels.ts'
import { SYSTEM_NAMESPACE } from '../core/names.ts'
import { type KubeObject, keyOf, objectKey, refOf } from '../core/object.ts'
import { done, type Outcome, stalled, waiting } from '../core/outcome.ts'
import type { SecretObject } from '../core/secretData.ts'
import type { AnyKind } from '../crds/define.ts'
import { PlatformClient } from '../crds/identity.ts'
import { KINDS } from '../crds/index.ts'
import {
  CODE_COLLECTIONS,
  isWorkloadOf,
  ManagedIdentity,
  wasBoundToWorkload,
  workloadKind,
} from '../crds/managedidentities.ts'
import { ObjectAccessKey } from '../crds/objectstorage.ts'
import {
  decodeCopy,
  type IdentityCopy,
  identityClient,
  identityCopy,
  identityOwnership,
  identitySecret,
  olderSecrets,
  principalOf,
} from '../desired/managedidentities.ts'
import { secret } from '../kube/builtin.ts'
import { absent, ignoreKubeAlreadyExists } from '../kube/errors.ts'
import { type Controller, controller, type Pass, steps, type Workspace } from './engine/controller.ts'
import { related } from './engine/lookups.ts'
import { ownerRestoreMs } from './engine/ownership.ts'
import { keepSecret, readSecret, withSecretRights } from './workload/secrets.ts'

const NO_SIGN_IN: TokenEndpoint = { tokenUrl: '', audience: '', realm: '' }

type IdentityPass = Pass<typeof ManagedIdentity>

/** Kinds whose objects are about one principal, and have no meaning without it. */
const GRANTS: readonly AnyKind[] = KINDS.filter((kind) => kind.selectable?.includes('spec.principalId'))

/**
 * Creates the service account of a resource that runs code, and deletes it with the resource. Its objects are in the
 * platform's and the boundary's namespace, where owner references do not reach, so a finalizer deletes them.
 *
 * @param kinds in which the collections that run code are looked up
 * @param signIn what pods are told about the token endpoint
 */
export function managedIdentityController(
  kinds: readonly AnyKind[] = KINDS,
  signIn: TokenEndpoint = NO_SIGN_IN,
): Controller {
  const workloads = CODE_COLLECTIONS.flatMap((name) => workloadKind(kinds, name) ?? [])
  return controller(ManagedIdentity, {
    observes: [
      PlatformClient.resource,
      secret,
      { resource: ObjectAccessKey.resource, keysOf: ownerOfKey },
      ...workloads.map(({ resource }) => ({ resource, in: 'records' as const, keysOf: identitiesOf })),
    ],
    childrenIn: 'records',
    writes: [
      { resource: ManagedIdentity.resource, verbs: ['delete'] },
      { resource: PlatformClient.resource, verbs: ['create', 'patch', 'delete'], in: 'system' },
      // No read access: the platform's signing keys are in the same namespace.
      { resource: secret, verbs: ['create', 'delete'], in: 'system' },
      { resource: ObjectAccessKey.resource, verbs: ['delete'] },
      ...GRANTS.map(({ resource }) => ({ resource, verbs: ['list', 'delete'] })),
    ],
    reconcile: steps(bindToResource, ensureCredentials(signIn)),
    finalize: steps(removeGrants, removeKeys, removeClient, removeSecrets),
  })

  /** Binds the identity to its resource, or deletes it if the resource is gone. */
  async function bindToResource(pass: IdentityPass): Promise<Outcome> {
    const { resourceName, resourceType } = pass.object.spec
    const kind = workloadKind(kinds, resourceType)
    // A collection that is not served here cannot tell whether the resource is gone.
    if (kind === undefined) return done()
    const namespace = pass.object.metadata.namespace
    const found = pass.records.cache(kind.resource).get(namespace, resourceName)
    if (found !== undefined && isWorkloadOf(found, pass.object)) return ensureOwner(pass, found)
    if (!wasBoundToWorkload(pass.object)) {
      const message = `No resource "${resourceName}" of ${resourceType} with this uid is in the group.`
      return stalled('ReferenceMissing', message)
    }
    const workload = await pass.records.client.get(kind.resource, { namespace, name: resourceName }).catch(absent)
    const remainingMs = workload === undefined ? ownerRestoreMs(pass.object as KubeObject, pass.clock.now()) : 0
    if (remainingMs > 0)
      return waiting('WaitingForDependency', `There is no "${resourceName}" of ${resourceType} yet.`, remainingMs)
    if (!isWorkloadOf(workload, pass.object)) {
      await pass.records.client.remove(pass.kind.resource, refOf(pass.object), { uid: pass.object.metadata.uid })
    }
    return waiting(
      'TearingDown',
      `The resource "${resourceName}" of ${resourceType} is gone; its identity is deleted too.`,
    )
  }
}

function identitiesOf(resource: KubeObject, records: Workspace): string[] {
  const { namespace, name } = resource.metadata
  return related(records.cache(ManagedIdentity), 'parent', namespace, name).map(keyOf)
}

async function ensureOwner(pass: IdentityPass, resource: KubeObject): Promise<Outcome> {
  const { metadata } = pass.object
  const bound = identityOwnership(resource)
  const isOwned = metadata.ownerReferences?.some(({ uid }) => uid === resource.metadata.uid) === true
  const incarnation = bound.annotations[OWNER_INCARNATION_ANNOTATION]
  if (isOwned && metadata.annotations?.[OWNER_INCARNATION_ANNOTATION] === incarnation) return done()
  await pass.records.client.mergePatch(
    pass.kind.resource,
    refOf(pass.object),
    { metadata: bound },
    { uid: metadata.uid },
  )
  return done()
}

/**
 * Creates the Secret of the wanted version, points the service account to it, and then deletes the older ones, so that
 * the account always has a working secret. A Secret created before an interruption is kept.
 */
function ensureCredentials(signIn: TokenEndpoint) {
  return function ensureCredentials(pass: IdentityPass): Promise<Outcome> {
    return withSecretRights(async () => {
      const copy = await keepCopy(pass, signIn)
      if (typeof copy === 'object') return copy
      return giveCredentials(pass, copy ?? randomBytes(32).toString('base64url'))
    })
  }
}

/** @param value secret for a new version */
async function giveCredentials(pass: IdentityPass, value: string): Promise<Outcome> {
  const { object, incarnation } = pass
  const { secretVersion } = object.spec
  const principalId = principalOf(object, incarnation)
  const client = identityClient(object, incarnation)
  const activeVersion = object.status?.secretVersion
  if (activeVersion === secretVersion && isLost(pass, client)) {
    return requestNewSecret(pass, 'The credentials of the service account were lost; new ones are made.')
  }
  if (activeVersion !== secretVersion || object.status?.principalId !== principalId) {
    const made = identitySecret(object, incarnation, pass.scope, value)
    await pass.records.client.create(secret, made).catch(ignoreKubeAlreadyExists)
  }
  await pass.children.ensure(client, { resource: PlatformClient.resource })
  if (activeVersion !== secretVersion) await removeAll(pass, olderSecrets(principalId, activeVersion, secretVersion))
  const { secretName } = client.spec as { secretName: string }
  pass.report({ principalId, secretName, secretVersion, mounted: object.spec.mounted })
  return done()
}

/** Whether the Secret in use is gone, as reported by the identity provider. */
function isLost({ records }: IdentityPass, { metadata: { name }, spec }: KubeObject): boolean {
  const clients = records.cache(PlatformClient)
  const { missingSecrets = [] } = clients.get(SYSTEM_NAMESPACE, name)?.status ?? {}
  return missingSecrets.includes((spec as PlatformClient['spec']).secretName)
}

/** Requests the next version, because a lost secret cannot be restored. */
async function requestNewSecret({ object, records, kind }: IdentityPass, message: string): Promise<Outcome> {
  const { uid, resourceVersion } = object.metadata
  const patch = { spec: { secretVersion: object.spec.secretVersion + 1 } }
  await records.client.mergePatch(kind.resource, refOf(object), patch, { uid, resourceVersion })
  return waiting('RotatingKey', message)
}

/**
 * Keeps the copy in the group, which is written before the platform's Secret, because nobody may read that one. A lost
 * copy cannot be restored, so it is replaced by new credentials.
 *
 * @returns the secret in the copy; undefined if there must be none
 */
async function keepCopy(pass: IdentityPass, signIn: TokenEndpoint): Promise<string | Outcome | undefined> {
  const { object, incarnation, children } = pass
  const { namespace = '', name } = object.metadata
  const { mounted, secretVersion: version } = object.spec
  const copyName = identityCopyName(name)
  if (!mounted) {
    // Also remove a copy for a version that the status does not show, because its process died.
    const { mounted: wasMounted, secretVersion } = object.status ?? {}
    if (wasMounted !== false || secretVersion !== version) await children.remove(secret, namespace, copyName)
    return undefined
  }
  const principalId = principalOf(object, incarnation)
  const isKept = (copy: IdentityCopy | undefined) => copy?.version === version && copy.principalId === principalId
  if (object.status?.secretVersion === version && object.status.principalId === principalId) {
    const held = await children.get<SecretObject>(secret, namespace, copyName)
    if (!isKept(decodeCopy(held?.data)) && !isKept(decodeCopy((await readSecret(pass, namespace, copyName))?.data))) {
      return requestNewSecret(pass, 'The credentials that pods mount were lost; new ones are made.')
    }
  }
  const copy = await keepSecret<IdentityCopy>(pass, copyName, {
    decode: decodeCopy,
    decide: (stored) =>
      stored !== undefined && isKept(stored)
        ? stored
        : { version, principalId, clientSecret: randomBytes(32).toString('base64url') },
    build: (value) => identityCopy(object, value, signIn),
  })
  return copy.clientSecret
}

async function removeAll({ records }: IdentityPass, names: readonly string[]): Promise<void> {
  // `remove` ignores absent ones.
  for (const name of names) {
    await records.client.remove(secret, { namespace: SYSTEM_NAMESPACE, name })
  }
}

/** Deletes assignments and denies of the principal in all namespaces, which would otherwise stay for ever. */
async function removeGrants(pass: IdentityPass): Promise<Outcome> {
  const fieldSelector = `spec.principalId=${principalOf(pass.object, pass.incarnation)}`
  for (const { resource } of GRANTS) {
    const { items } = await pass.records.client.list(resource, { fieldSelector })
    for (const grant of items) {
      await pass.records.client.remove(resource, refOf(grant), { uid: grant.metadata.uid })
    }
  }
  return done()
}

/** Deletes the identity's access keys one by one, so that the object store is told of each. */
async function removeKeys(pass: IdentityPass): Promise<Outcome> {
  const { namespace, name } = pass.object.metadata
  // List from the API server: the cache may lack the newest keys, and nobody looks again later.
  const { items } = await pass.records.client.list<ObjectAccessKey & KubeObject>(ObjectAccessKey.resource, {
    namespace,
  })
  const keys = items.filter(({ spec }) => spec.managedIdentityId === name)
  for (const key of keys) {
    if (key.metadata.deletionTimestamp !== undefined) continue
    await pass.records.client.remove(ObjectAccessKey.resource, refOf(key), { uid: key.metadata.uid })
  }
  return keys.length === 0 ? done() : waiting('TearingDown', 'Its access keys are being deleted.')
}

function ownerOfKey({ metadata, spec }: KubeObject): string[] {
  const { managedIdentityId } = spec as { managedIdentityId?: string }
  return managedIdentityId === undefined ? [] : [objectKey(metadata.namespace, managedIdentityId)]
}

async function removeClient(pass: IdentityPass): Promise<Outcome> {
  const principalId = principalOf(pass.object, pass.incarnation)
  const isGone = await pass.children.remove(PlatformClient.resource, SYSTEM_NAMESPACE, principalId)
  return isGone ? done() : waiting('TearingDown', `Waiting for the deletion of service account ${principalId}.`)
}

async function removeSecrets(pass: IdentityPass): Promise<Outcome> {
  const { object, incarnation } = pass
  const principalId = principalOf(object, incarnation)
  await removeAll(pass, olderSecrets(principalId, object.status?.secretVersion, object.spec.secretVersion + 1))
  return done()
}
