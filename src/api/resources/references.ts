import {
  type ReferencedRight,
  type Referring,
  type ResourceOutput,
  referencedRights,
  type VaultReference,
  vaultRights,
} from '../../contracts/references.ts'
import { versionsOf } from '../../contracts/vaults/history.ts'
import { entryName } from '../../contracts/vaults/names.ts'
import { permissionMissing } from '../../core/errors.ts'
import { groupNamespace } from '../../core/names.ts'
import { RESOURCE_KINDS } from '../../crds/index.ts'
import { SecretVault, VaultEntry } from '../../crds/vaults.ts'
import type { Context, Services } from '../http/context.ts'
import { unprocessable } from './sizing.ts'

type Place = { readonly boundaryId: string; readonly resourceGroup: string }
type Asking = Place & { readonly services: Services; readonly context: Context }

/** Whether or not there is such a thing: names must not tell. @throws PlatformError FORBIDDEN */
function requireAll(
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

/** Who refers to values of a vault may read them. @throws PlatformError FORBIDDEN */
export function refuseForeignVaults(vaults: Iterable<string>, asking: Asking): void {
  requireAll(vaultRights(vaults), asking)
}

/** Who refers to a value may read it. @throws PlatformError FORBIDDEN */
export function refuseForeignReferences(spec: Referring, asking: Asking): void {
  requireAll(referencedRights(spec), asking)
}

/** What may stand in a field of a spec for a value. */
export type Reference = { readonly secret?: VaultReference | undefined; readonly output?: ResourceOutput | undefined }

/**
 * What a spec newly refers to has to be there, or the resource would be made only to fail. It is asked after the rights, so
 * that nobody learns a name from it.
 *
 * @param next the references, by the field that they stand in
 * @throws PlatformError REFERENCE_NOT_FOUND
 */
export function refuseMissingReferences(
  next: Readonly<Record<string, readonly Reference[] | undefined>>,
  before: readonly Reference[],
  asking: Omit<Asking, 'context'>,
): void {
  const known = new Set(before.map(keyOf))
  for (const [field, references = []] of Object.entries(next))
    for (const reference of references) {
      const missing = known.has(keyOf(reference)) ? undefined : missingIn(reference, asking)
      if (missing === undefined) continue
      throw unprocessable('REFERENCE_NOT_FOUND', field, missing.value, missing.message)
    }
}

const keyOf = ({ secret, output }: Reference) =>
  JSON.stringify([
    [secret?.vaultName, secret?.secretName, secret?.version],
    [output?.collection, output?.name],
  ])

type Missing = { value: string; message: string }

function missingIn({ secret, output }: Reference, asking: Omit<Asking, 'context'>): Missing | undefined {
  if (secret !== undefined && secret !== null) return missingSecret(secret, asking)
  if (output === undefined || output === null) return undefined
  const { collection, name } = output
  const kind = RESOURCE_KINDS.find(({ segment }) => segment === collection)
  const namespace = groupNamespace(asking.boundaryId, asking.resourceGroup)
  if (kind === undefined || asking.services.records.peek(kind, { namespace, name }) !== undefined) return undefined
  return { value: name, message: `There is no "${name}" of ${collection} in this group.` }
}

function missingSecret(
  { vaultName, secretName, version }: VaultReference,
  { services, boundaryId, resourceGroup }: Omit<Asking, 'context'>,
): Missing | undefined {
  const namespace = groupNamespace(boundaryId, resourceGroup)
  if (services.records.peek(SecretVault, { namespace, name: vaultName }) === undefined)
    return { value: vaultName, message: `There is no vault "${vaultName}" in this group.` }
  const entry = services.records.peek(VaultEntry, { namespace, name: entryName(vaultName, secretName) })
  // One that a manifest declares has its first version in a moment.
  if (entry === undefined || entry.metadata.deletionTimestamp !== undefined || entry.spec.state !== 'Active')
    return { value: secretName, message: `Vault "${vaultName}" has no secret "${secretName}".` }
  const isThere = versionsOf(entry.spec).some((one) => one.version === version)
  if (version === undefined || version === null || isThere) return undefined
  return {
    value: String(version),
    message: `Secret "${secretName}" of vault "${vaultName}" has no version ${version}.`,
  }
}
