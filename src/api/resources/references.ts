import {
  type ReferencedRight,
  type ResourceOutput,
  referencedRights,
  type ValueReferences,
  type VaultReference,
  vaultRights,
} from '../../contracts/references.ts'
import { entryVersionsOf } from '../../contracts/vaults/history.ts'
import { entryName } from '../../contracts/vaults/names.ts'
import { PlatformError, permissionMissing } from '../../core/errors.ts'
import { groupNamespace } from '../../core/names.ts'
import type { KubeObject, ObjectRef } from '../../core/object.ts'
import type { AnyKind } from '../../crds/define.ts'
import { RESOURCE_KINDS } from '../../crds/index.ts'
import { SecretVault, VaultEntry } from '../../crds/vaults.ts'
import type { Context, Services } from '../http/context.ts'
import type { RecordOf } from '../records/records.ts'

type Place = { readonly boundaryId: string; readonly resourceGroup: string }
type Asking = Place & { readonly services: Services; readonly context: Context }
type Referrer = Place & { readonly services: Services; readonly unseen?: UncachedObjects | undefined }

/** Checks rights, whether or not their objects exist, to reveal no names. @throws PlatformError FORBIDDEN */
export function requireReferencedRights(
  rights: readonly ReferencedRight[],
  { boundaryId, resourceGroup, services, context }: Asking,
): void {
  const group = `/boundaries/${boundaryId}/resourcegroups/${resourceGroup}`
  for (const right of rights) {
    const { action } = right
    const scope = 'collection' in right ? `${group}/resources/${right.collection}/${right.name}` : group
    if (!services.access.isAllowed(context.caller.principalId, action, scope)) throw permissionMissing(action, scope)
  }
}

/** Refuses references to values of a vault that the caller may not read. @throws PlatformError FORBIDDEN */
export function requireVaultRights(vaults: Iterable<string>, asking: Asking): void {
  requireReferencedRights(vaultRights(vaults), asking)
}

/** Refuses references to values that the caller may not read. @throws PlatformError FORBIDDEN */
export function requireReferenceRights(spec: ValueReferences, asking: Asking): void {
  requireReferencedRights(referencedRights(spec), asking)
}

/** A reference in a field of a spec, in place of a value. */
export type Reference = {
  readonly value?: string | undefined
  readonly secret?: VaultReference | undefined
  readonly output?: ResourceOutput | undefined
}

/** Whether a reference names exactly one source. The rules of its kind refuse any other. */
const namesOneSource = ({ value, secret, output }: Reference) =>
  [value, secret, output].filter((source) => (source ?? undefined) !== undefined).length === 1

/**
 * Refuses new references to missing objects, because the resource would be created only to fail. Called after the check
 * of rights, so that it reveals no names.
 *
 * @param next the references, by the field that they stand in
 * @throws PlatformError REFERENCE_NOT_FOUND
 */
export function refuseMissingReferences(
  next: Readonly<Record<string, readonly Reference[] | undefined>>,
  before: readonly Reference[],
  asking: Referrer,
): void {
  const known = new Set(before.map(keyOf))
  for (const [field, references = []] of Object.entries(next))
    for (const reference of references.filter(namesOneSource)) {
      const missing = known.has(keyOf(reference)) ? undefined : missingIn(reference, asking)
      if (missing === undefined) continue
      throw new ReferenceMissing(field, missing)
    }
}

/** A reference to an object that is not in the cache: another replica may have just created it. */
class ReferenceMissing extends PlatformError {
  readonly kind: AnyKind
  readonly ref: ObjectRef

  constructor(field: string, { kind, ref, value, message }: Missing) {
    super('REFERENCE_NOT_FOUND', message, { field, value })
    this.kind = kind
    this.ref = ref
  }
}

/** Objects missing in the cache and read from the API server, by kind and place; undefined if missing there too. */
export type UncachedObjects = ReadonlyMap<string, KubeObject | undefined>

export const uncachedKey = ({ kind }: AnyKind, { namespace, name }: ObjectRef) => `${kind} ${namespace}/${name}`

function peekObject<K extends AnyKind>(
  { services, unseen }: Referrer,
  kind: K,
  ref: ObjectRef,
): RecordOf<K> | undefined {
  return (unseen?.get(uncachedKey(kind, ref)) as RecordOf<K> | undefined) ?? services.records.peek(kind, ref)
}

/**
 * Runs `make`, and lets it refuse a reference only if the object, or the right to it, is missing in the API server too.
 *
 * @param make called again with the objects that the cache lacked
 * @param planned objects that will exist before the references are followed
 */
export async function withUncachedReferences<T>(
  { services: { records, access }, caller }: Pick<Context, 'services' | 'caller'>,
  make: (unseen: UncachedObjects) => T,
  planned: UncachedObjects = new Map(),
): Promise<T> {
  const scopes = new Set<string>()
  const unseen = new Map<string, KubeObject | undefined>(planned)
  for (;;) {
    try {
      return make(unseen)
    } catch (error) {
      const scope = deniedScope(error)
      if (scope !== undefined && !scopes.has(scope)) {
        scopes.add(scope)
        await access.catchUp(caller.principalId, scope)
        continue
      }
      if (!(error instanceof ReferenceMissing)) throw error
      const { kind, ref } = error
      if (unseen.has(uncachedKey(kind, ref))) throw error
      unseen.set(uncachedKey(kind, ref), await records.get(kind, ref, { fresh: true }))
    }
  }
}

/** Returns the scope at which a permission was missing. */
function deniedScope(error: unknown): string | undefined {
  const { code, extras } = error instanceof PlatformError ? error : {}
  return code === 'FORBIDDEN' && typeof extras?.scope === 'string' ? extras.scope : undefined
}

const keyOf = ({ secret, output }: Reference) =>
  JSON.stringify([
    [secret?.vaultName, secret?.secretName, secret?.version],
    [output?.collection, output?.name],
  ])

type Missing = { kind: AnyKind; ref: ObjectRef; value: string; message: string }

function missingIn({ secret, output }: Reference, asking: Referrer): Missing | undefined {
  if (secret !== undefined && secret !== null) return missingSecret(secret, asking)
  if (output === undefined || output === null) return undefined
  const { collection, name } = output
  const kind = RESOURCE_KINDS.find(({ segment }) => segment === collection)
  const namespace = groupNamespace(asking.boundaryId, asking.resourceGroup)
  const ref = { namespace, name }
  if (kind === undefined || peekObject(asking, kind, ref) !== undefined) return undefined
  return { kind, ref, value: name, message: `There is no "${name}" of ${collection} in this group.` }
}

function missingSecret({ vaultName, secretName, version }: VaultReference, asking: Referrer): Missing | undefined {
  const namespace = groupNamespace(asking.boundaryId, asking.resourceGroup)
  const vault = { namespace, name: vaultName }
  if (peekObject(asking, SecretVault, vault) === undefined)
    return {
      kind: SecretVault,
      ref: vault,
      value: vaultName,
      message: `There is no vault "${vaultName}" in this group.`,
    }
  const missing = { kind: VaultEntry, ref: { namespace, name: entryName(vaultName, secretName) } }
  const entry = peekObject(asking, VaultEntry, missing.ref)
  // A secret that a manifest declares gets its first version in a moment, so no version is needed here.
  if (entry === undefined || entry.metadata.deletionTimestamp !== undefined || entry.spec.state !== 'Active')
    return { ...missing, value: secretName, message: `Vault "${vaultName}" has no secret "${secretName}".` }
  const isThere = entryVersionsOf(entry.spec).some((one) => one.version === version)
  if (version === undefined || version === null || isThere) return undefined
  return {
    ...missing,
    value: String(version),
    message: `Secret "${secretName}" of vault "${vaultName}" has no version ${version}.`,
  }
}
